package mysqldb

import "strings"

// In returns what stands between the parentheses of an IN list, and the arguments before followed by the values. An
// empty list becomes NULL, which equals nothing.
func In[T any](values []T, before ...any) (marks string, args []any) {
	args = append(make([]any, 0, len(before)+len(values)), before...)
	if len(values) == 0 {
		return "NULL", args
	}
	for _, v := range values {
		args = append(args, v)
	}
	return strings.Repeat(",?", len(values))[1:], args
}
