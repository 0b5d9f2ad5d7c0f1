package projection

import "slices"

// MaxEntries is how many entries a list of the row keeps. A patient with more is no person but a counter's account
// for everybody; the newest entries are the ones that someone still looks for.
const MaxEntries = 5000

// newest returns the distinct values of rows that are ordered oldest first, each at the place of its last
// occurrence, and of those the last MaxEntries. The zero value is no value. Without values it is nil.
func newest[T any, V int64 | string](rows []T, value func(T) V) []V {
	var zero V
	var list []V
	seen := make(map[V]struct{}, min(len(rows), MaxEntries))
	for _, row := range slices.Backward(rows) {
		v := value(row)
		if _, again := seen[v]; again || v == zero {
			continue
		}
		if len(list) == MaxEntries {
			break
		}
		seen[v] = struct{}{}
		list = append(list, v)
	}
	slices.Reverse(list)
	return list
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
