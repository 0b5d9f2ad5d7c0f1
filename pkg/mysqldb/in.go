package mysqldb

import "strings"

// In returns the placeholders of an IN list, and the arguments before, followed by values. For an empty list the
// placeholder is NULL, which equals no value.
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
