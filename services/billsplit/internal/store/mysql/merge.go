package mysql

import (
	"context"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
)

// Merge undoes a split in one transaction.
func (s *Store) Merge(
	ctx context.Context, r family.Request, once idempotency.Request,
	decide func(family.Facts) (family.Decision, error),
) (answer []byte, replayed bool, err error) {
	return s.once(ctx, r.Lab, once, func(t *transaction) ([]byte, error) {
		facts, err := t.mergeFacts(ctx, r.BillID)
		if err != nil {
			return nil, err
		}
		decision, err := decide(facts)
		if err != nil {
			return nil, err
		}
		return t.applyMerge(ctx, decision)
	})
}

// mergeFacts reads the facts under locks. It locks the older bill first, as all transactions that lock both do.
func (t *transaction) mergeFacts(ctx context.Context, newID int64) (f family.Facts, err error) {
	unlocked, err := t.split(ctx, newID)
	if err != nil {
		return f, err
	}
	if unlocked != nil {
		if f.Parent, err = t.bill(ctx, unlocked.ParentID); err != nil {
			return f, err
		}
	}
	if f.New, err = t.bill(ctx, newID); err != nil || f.New == nil {
		return f, err
	}
	if f.Rows, err = t.rows(ctx, newID); err != nil {
		return f, err
	}
	if f.Record, err = t.split(ctx, newID); err != nil || f.Parent == nil { // read again under the locks
		return f, err
	}
	return f, t.aroundMerge(ctx, &f)
}

func (t *transaction) aroundMerge(ctx context.Context, f *family.Facts) (err error) {
	if f.OfParent, err = t.children(ctx, []int64{f.Parent.ID}); err != nil {
		return err
	}
	if f.OfNew, err = t.children(ctx, []int64{f.New.ID}); err != nil {
		return err
	}
	tests := bill.IDs(f.Rows)
	if f.AroundParent, err = t.around(ctx, f.Parent.ID, tests); err != nil {
		return err
	}
	if f.AroundNew, err = t.around(ctx, f.New.ID, tests); err != nil {
		return err
	}
	if f.ParentReports, err = t.smartReports(ctx, f.Parent.ID); err != nil {
		return err
	}
	if f.NewReports, err = t.smartReports(ctx, f.New.ID); err != nil || len(f.Record.SmartReports) == 0 {
		return err
	}
	if err = t.lockReports(ctx, f.Record); err != nil {
		return err
	}
	f.ResultsChanged, err = t.resultsChanged(ctx, f.Record)
	return err
}

// applyMerge writes the decision and returns the response to the request.
func (t *transaction) applyMerge(ctx context.Context, d family.Decision) ([]byte, error) {
	r := d.Record
	if err := t.setAmounts(ctx, r.ParentID, r.Before); err != nil {
		return nil, err
	}
	if err := t.setAmounts(ctx, r.NewID, bill.Amounts{}); err != nil {
		return nil, err
	}
	if err := t.move(ctx, r.NewID, r.ParentID, r.Moved); err != nil {
		return nil, err
	}
	if err := t.moveReports(ctx, r.NewID, r.ParentID); err != nil {
		return nil, err
	}
	if err := t.cancel(ctx, r.NewID); err != nil {
		return nil, err
	}
	for _, attachments := range []struct {
		bill   int64
		ids    []int64
		active bool
	}{{r.ParentID, d.RetiredOfParent, false}, {r.NewID, d.RetiredOfNew, false}, {r.ParentID, d.Restored, true}} {
		if err := t.activate(ctx, attachments.bill, attachments.ids, attachments.active); err != nil {
			return nil, err
		}
	}
	if err := t.undone(ctx, r.NewID, d.By, d.At); err != nil {
		return nil, err
	}
	if err := t.log(ctx, d.Entries); err != nil {
		return nil, err
	}
	answer, err := d.Answer()
	return answer, mysqldb.Wrap("encode answer", err)
}
