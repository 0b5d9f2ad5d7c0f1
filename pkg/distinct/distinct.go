// Package distinct takes repetitions out of lists that callers wrote, in one pass: comparing each entry with those
// before it would let a list of 100,000 keep a core busy for seconds.
package distinct

// Of keeps the first of equal entries, in their order.
func Of[T comparable](list []T) []T {
	once, seen := make([]T, 0, len(list)), make(map[T]struct{}, len(list))
	for _, one := range list {
		if _, again := seen[one]; !again {
			seen[one] = struct{}{}
			once = append(once, one)
		}
	}
	return once
}

// Without keeps the entries of list that are not among others.
func Without[T comparable](list, others []T) []T {
	gone := make(map[T]struct{}, len(others))
	for _, one := range others {
		gone[one] = struct{}{}
	}
	var rest []T
	for _, one := range list {
		if _, is := gone[one]; !is {
			rest = append(rest, one)
		}
	}
	return rest
}
