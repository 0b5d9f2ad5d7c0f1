package mysqldb_test

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

func TestInHasAPlaceholderForEachValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []int64
		marks  string
		args   []any
	}{
		{nil, "NULL", []any{"lab"}},
		{[]int64{7}, "?", []any{"lab", int64(7)}},
		{[]int64{7, 8, 9}, "?,?,?", []any{"lab", int64(7), int64(8), int64(9)}},
	} {
		if marks, args := mysqldb.In(c.values, "lab"); marks != c.marks || !slices.Equal(args, c.args) {
			t.Errorf("In(%v) = %s %v, want %s %v", c.values, marks, args, c.marks, c.args)
		}
	}
}
