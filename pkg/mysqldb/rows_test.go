package mysqldb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestCollectReturnsTheValuesOfAllRows(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	const query = "SELECT id FROM (SELECT 2 AS id UNION SELECT 1 UNION SELECT 3) numbers WHERE id >= ? ORDER BY id"
	number := func(row mysqldb.Row, n *int) error { return row.Scan(n) }
	for least, want := range map[int][]int{1: {1, 2, 3}, 3: {3}, 4: nil} {
		got, err := mysqldb.Collect(t.Context(), db, query, []any{least}, number)
		if err != nil || !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("Collect from %d = %#v, error %v, want %#v", least, got, err, want)
		}
	}
}

func TestCollectReturnsTheErrorOfScanUnchanged(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	seen, unreadable := 0, errors.New("unreadable")
	got, err := mysqldb.Collect(t.Context(), db, "SELECT 1 UNION SELECT 2 UNION SELECT 3", nil,
		func(mysqldb.Row, *int) error {
			if seen++; seen == 2 {
				return unreadable
			}
			return nil
		})
	if got != nil || err != unreadable || seen != 2 { //nolint:errorlint // unchanged
		t.Errorf("Collect = %v, error %v, after %d rows, want nil and the error of row 2", got, err, seen)
	}
	if open := db.Stats().InUse; open != 0 {
		t.Errorf("connections in use after an error = %d, want 0", open)
	}
}

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
