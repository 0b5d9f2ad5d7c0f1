package split_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// TestSplitsBesidePaymentsAndEdits checks that no change is lost when one bill is split concurrently with programs that
// take the same row locks: one adds ten rupees to a test that is still on the bill, the other books an advance and
// removes it again.
func TestSplitsBesidePaymentsAndEdits(t *testing.T) {
	t.Parallel()
	const splitters, edits, payments, ten = 16, 12, 12, 1000
	before := crowded(splitters + 4)
	b := storetest.Open(t, before)
	db := b.DB
	cases := storetest.NewCases(t, b.Store)
	ctx := t.Context()
	var all sync.WaitGroup
	var mu sync.Mutex
	done := map[string]int{}
	run := func(what string, work func() (bool, error)) {
		all.Go(func() {
			happened, err := work()
			if err != nil {
				t.Errorf("%s: got error %v, want none", what, err)
			}
			if happened {
				mu.Lock()
				defer mu.Unlock()
				done[what]++
			}
		})
	}
	for i := range splitters {
		run("split", func() (bool, error) {
			for {
				_, err := cases.Split(ctx, "", int64(1000+i))
				if refused := (*split.Refused)(nil); !errors.As(err, &refused) || refused.Failures[0].Type != bill.AdvanceNotAllowed {
					return err == nil, err
				} // an advance was booked at that moment; it is removed again
			}
		})
	}
	for i := range edits {
		run("edit", func() (bool, error) { return addTen(ctx, db, int64(1000+i)) })
	}
	for range payments {
		run("payment", func() (bool, error) { return true, errors.Join(advance(ctx, db, 1), advance(ctx, db, -1)) })
	}
	all.Wait()
	t.Log(done)
	head := before.Bills[original]
	head.Amounts.Total += ten * bill.Paise(done["edit"])
	before.Bills[original] = head
	expectConserved(t, before, b.Dump())
	if done["split"] != splitters || done["payment"] != payments {
		t.Errorf("%v", done)
	}
}

// addTen changes a test that is on the original bill, together with the bill.
func addTen(ctx context.Context, db *sql.DB, test int64) (edited bool, err error) {
	err = mysqldb.InTx(ctx, db, func(tx *sql.Tx) error {
		if err := lockBill(ctx, tx); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, "UPDATE billingInfo SET testAmount = testAmount + 10 WHERE id = ? AND billId_id = ?", test, original)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if edited = n == 1; err != nil || !edited {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE billing SET billTotalAmount = billTotalAmount + 10 WHERE id = ?", original)
		return err
	})
	return edited, err
}

func advance(ctx context.Context, db *sql.DB, rupees int) error {
	return mysqldb.InTx(ctx, db, func(tx *sql.Tx) error {
		if err := lockBill(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE billing SET billAdvance = billAdvance + ? WHERE id = ?", rupees, original)
		return err
	})
}

func lockBill(ctx context.Context, tx *sql.Tx) error {
	var id int64
	return tx.QueryRowContext(ctx, "SELECT id FROM billing WHERE id = ? FOR UPDATE", original).Scan(&id)
}
