package mysql_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// TestTheNumberOfStatementsDoesNotDependOnTheNumberOfTests counts the statements of one split with the session's own
// counter, which other sessions do not affect.
func TestTheNumberOfStatementsDoesNotDependOnTheNumberOfTests(t *testing.T) {
	t.Parallel()
	counts := map[int]int{}
	for _, tests := range []int{2, 40, 400} {
		f := storetest.Open(t, large(tests))
		db := f.DB
		db.SetMaxOpenConns(1)
		asked := func() (n int) {
			var name string
			if err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := asked()
		ids := make([]int64, tests/2)
		for i := range ids {
			ids[i] = int64(1000 + i)
		}
		if _, err := storetest.NewCases(t, f.Store).Split(t.Context(), fmt.Sprint("key-", tests), ids...); err != nil {
			t.Fatal(err)
		}
		counts[tests] = asked() - before - 1 // minus the statement that reads the counter
	}
	t.Log(counts)
	if counts[2] != counts[40] || counts[40] != counts[400] || counts[40] > 25 {
		t.Errorf("statements by number of tests: %v", counts)
	}
}

func large(tests int) storetest.State {
	s := storetest.Worked()
	clear(s.Tests)
	head := s.Bills[storetest.Original]
	head.Amounts = bill.Amounts{Total: bill.Paise(tests) * 1000}
	s.Bills[storetest.Original] = head
	for i := range int64(tests) {
		s.Tests[1000+i] = storetest.Test{BillID: storetest.Original, Row: bill.Row{ID: 1000 + i, LabID: 12, Amount: 1000}}
		s.Reports[1000+i] = storetest.Report{LabID: 12, BillID: storetest.Original, TestID: 1000 + i}
	}
	return s
}
