package mysql

import (
	"context"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// View returns the facts of a split without locks.
func (s *Store) View(ctx context.Context, r split.Request) (f split.Facts, err error) {
	err = s.snapshot(ctx, r.Lab, func(t *transaction) error {
		f, err = t.splitFacts(ctx, r)
		return err
	})
	return f, err
}

// Split splits a bill in one transaction.
func (s *Store) Split(
	ctx context.Context, r split.Request, once idempotency.Request, decide func(split.Facts) (split.Decision, error),
) (answer []byte, replayed bool, err error) {
	return s.once(ctx, r.Lab, once, func(t *transaction) ([]byte, error) {
		facts, err := t.splitFacts(ctx, r)
		if err != nil {
			return nil, err
		}
		decision, err := decide(facts)
		if err != nil {
			return nil, err
		}
		return t.applySplit(ctx, decision)
	})
}

// splitFacts reads the facts in the order of the locks. It takes the bill number last, because that blocks other splits
// of the laboratory.
func (t *transaction) splitFacts(ctx context.Context, r split.Request) (f split.Facts, err error) {
	if f.Enabled, err = t.splittingEnabled(ctx); err != nil {
		return f, err
	}
	if f.Bill, err = t.bill(ctx, r.BillID); err != nil || f.Bill == nil {
		return f, err
	}
	if f.Rows, err = t.rows(ctx, r.BillID); err != nil {
		return f, err
	}
	if f.Around, err = t.around(ctx, r.BillID, bill.IDs(bill.Select(f.Rows, r.Tests).Moved)); err != nil {
		return f, err
	}
	if f.Around.Reports, err = t.reports(ctx, r.BillID); err != nil {
		return f, err
	}
	if f.SmartReports, err = t.smartReports(ctx, r.BillID); err != nil || !t.locks {
		return f, err
	}
	if len(f.SmartReports) > 0 {
		if f.Results, err = t.results(ctx, r.BillID); err != nil {
			return f, err
		}
	}
	if f.NextNumber, err = t.nextBillNumber(ctx); err != nil {
		return f, err
	}
	f.OrderNumbers, err = t.orderNumbers(ctx, bill.OrderPrefix(f.Bill.OrderNumber))
	return f, err
}

// applySplit writes the decision and returns the response to the request.
func (t *transaction) applySplit(ctx context.Context, d split.Decision) ([]byte, error) {
	r := d.Record
	if err := t.setAmounts(ctx, r.ParentID, r.AfterParent); err != nil {
		return nil, err
	}
	if err := t.activate(ctx, r.ParentID, r.SmartReports, false); err != nil {
		return nil, err
	}
	newID, err := t.create(ctx, r.ParentID, d.Draft)
	if err != nil {
		return nil, err
	}
	if err := t.move(ctx, r.ParentID, newID, r.Moved); err != nil {
		return nil, err
	}
	if err := t.record(ctx, d.RecordOf(newID)); err != nil {
		return nil, err
	}
	if err := t.log(ctx, d.Entries(newID)); err != nil {
		return nil, err
	}
	answer, err := d.Answer(newID)
	return answer, mysqldb.Wrap("encode answer", err)
}
