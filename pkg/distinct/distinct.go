// Package distinct removes duplicates and excluded entries from lists in linear time. Lists come from callers;
// comparing every pair of a list of 100,000 entries would occupy a core for seconds.
package distinct

// Of returns list without repeated entries; the first of equal entries stays, in the order of list.
func Of[T comparable](list []T) []T {
	unique, seen := make([]T, 0, len(list)), make(map[T]struct{}, len(list))
	for _, entry := range list {
		if _, repeated := seen[entry]; !repeated {
			seen[entry] = struct{}{}
			unique = append(unique, entry)
		}
	}
	return unique
}

// Without returns the entries of list that are not in others, in the order of list.
func Without[T comparable](list, others []T) []T {
	excluded := make(map[T]struct{}, len(others))
	for _, entry := range others {
		excluded[entry] = struct{}{}
	}
	var rest []T
	for _, entry := range list {
		if _, found := excluded[entry]; !found {
			rest = append(rest, entry)
		}
	}
	return rest
}
