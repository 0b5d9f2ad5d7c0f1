package mysql

import (
	"context"
	"database/sql"
	"time"

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

// lockReports locks the reports of both bills, so that no result changes between the decision and the commit. It waits
// for transactions that are changing one.
func (t *transaction) lockReports(ctx context.Context, r *family.Record) error {
	err := mysqldb.Each(ctx, t.tx, "SELECT id FROM labReportRelation WHERE labId_id = ? AND billId_id IN (?, ?)"+
		" ORDER BY id FOR UPDATE", []any{t.lab.LabID(), r.ParentID, r.NewID}, func(*sql.Rows) error { return nil })
	return mysqldb.Wrap("lock reports", err)
}

// clockSkew is how far the clock of a split may be ahead of the database's, which dates results.
const clockSkew = time.Minute

// resultsChanged reports whether a result of either bill was written, or a report dismissed, since the split.
func (t *transaction) resultsChanged(ctx context.Context, r *family.Record) (changed bool, err error) {
	since := time.UnixMilli(r.At).Add(-clockSkew).UTC()
	err = t.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM labReportRelation r LEFT JOIN reportValues v"+
		" ON v.labReportId_id = r.id AND v.updated_at >= ? WHERE r.labId_id = ? AND r.billId_id IN (?, ?)"+
		" AND (v.id IS NOT NULL OR r.dismissed <> 0 AND r.updatedOn >= ?))",
		since, t.lab.LabID(), r.ParentID, r.NewID, since).Scan(&changed)
	return changed, mysqldb.Wrap("read results", err)
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
