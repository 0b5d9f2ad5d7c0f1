package projection

import "slices"

// MaxEntries is the maximum number of entries in a list of the row. A patient with more is usually the account of a
// walk-in counter. The newest entries are kept, because these are still searched for.
const MaxEntries = 5000

// newest returns the distinct non-zero values of rows, which are ordered oldest first. Each value is at the place of
// its last occurrence, and only the last MaxEntries are kept. Without values it returns nil.
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
