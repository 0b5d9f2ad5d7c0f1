package family

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// The reasons why a split cannot be undone.
var (
	errNotSplit = apperr.New(apperr.Conflict, "BILL_NOT_SPLIT",
		"This bill was not made by a split; name the new bill of a split")
	errMerged  = apperr.New(apperr.Conflict, "BILL_ALREADY_MERGED", "This bill was merged back already")
	errChanged = apperr.New(apperr.Conflict, "BILL_CHANGED",
		"One of the two bills changed since the split, so it cannot be undone; correct the bills by hand")
)

// Merger undoes splits.
type Merger struct {
	store    Store
	after    split.AfterSplit
	clock    clock.Clock
	observer Observer
}

// NewMerger returns a Merger.
func NewMerger(s Store, after split.AfterSplit, c clock.Clock, o Observer) *Merger {
	return &Merger{s, after, c, o}
}

// Request is a wish to undo the split that made a bill.
type Request struct {
	Lab    authn.LabScope
	BillID int64
	Actor  authn.Actor
	Key    string
}

const operation = "lab.billsplit.v1.BillSplitService/MergeBill"

// Merge undoes the split in one transaction.
func (m *Merger) Merge(ctx context.Context, r Request) (split.Result, error) {
	defer split.Timed(m.clock, m.observer, modeMerge)()
	once := idempotency.Request{Key: r.Key, Operation: operation, Body: fmt.Append(nil, r.BillID)}
	var p pair
	answer, replayed, err := m.store.OnceMerge(ctx, r.Lab, once, func(l Locked) ([]byte, error) {
		var err error
		if p, err = lock(ctx, l, r.BillID); err != nil {
			return nil, err
		}
		if err := p.check(ctx, l); err != nil {
			return nil, err
		}
		return m.write(ctx, l, r, p)
	})
	if err != nil {
		return split.Result{}, err
	}
	var result split.Result
	if err := json.Unmarshal(answer, &result); err != nil {
		return split.Result{}, fmt.Errorf("read the answer of a merge: %w", err)
	}
	if !replayed {
		m.observer.Merged()
		m.after.Changed(ctx, r.Lab, p.parent.PatientID)
	}
	return result, nil
}

// pair is both bills of a split.
type pair struct {
	record      Record
	parent, new bill.Bill
	rows        []bill.Row // of the new bill
	later       []Record   // splits of either bill since
}

// lock takes the older bill first, as everybody does who takes both.
func lock(ctx context.Context, l Locked, newBillID int64) (pair, error) {
	record, err := l.Split(ctx, newBillID)
	if err != nil {
		return pair{}, err
	}
	if record == nil {
		return pair{}, neverSplit(ctx, l, newBillID)
	}
	var p pair
	for _, b := range []struct {
		id   int64
		into *bill.Bill
	}{{record.ParentID, &p.parent}, {record.NewID, &p.new}} {
		found, err := l.Bill(ctx, b.id)
		if err != nil {
			return pair{}, err
		}
		if found == nil {
			return pair{}, ErrNoBill
		}
		*b.into = *found
	}
	if p.rows, err = l.Rows(ctx, newBillID); err != nil {
		return pair{}, err
	}
	if record, err = l.Split(ctx, newBillID); err != nil { // as it is under the locks
		return pair{}, err
	}
	p.record = *record
	ofParent, err := l.SplitsOf(ctx, p.parent.ID)
	if err != nil {
		return pair{}, err
	}
	ofNew, err := l.SplitsOf(ctx, p.new.ID)
	if err != nil {
		return pair{}, err
	}
	earlier := func(r Record) bool { return r.NewID <= p.new.ID }
	p.later = append(slices.DeleteFunc(ofParent, earlier), ofNew...)
	return p, nil
}

func neverSplit(ctx context.Context, l Locked, id int64) error {
	b, err := l.Bill(ctx, id)
	switch {
	case err != nil:
		return err
	case b == nil:
		return ErrNoBill
	}
	return errNotSplit
}

// check refuses bills of which something changed since the split.
func (p pair) check(ctx context.Context, l Locked) error {
	if err := p.checkOrder(); err != nil {
		return err
	}
	if changed := p.changedTests(); len(changed) > 0 {
		return apperr.Newf(apperr.Conflict, errChanged.Reason, "The split cannot be undone because these tests: %s, changed"+
			" since; correct the bills by hand", bill.List(changed))
	}
	if p.headsChanged() || !p.parent.Insured() {
		return errChanged
	}
	rows := bill.IDs(p.rows)
	for _, b := range []bill.Bill{p.parent, p.new} {
		if words := b.State.Blocks(); len(words) > 0 {
			return apperr.Newf(apperr.Conflict, bill.InvalidState, "Bill %d is %s, so the split cannot be undone",
				b.LabBillID, words[0])
		}
		around, err := l.Around(ctx, b.ID, rows)
		if err != nil {
			return err
		}
		if len(around.Guarded) > 0 {
			return apperr.Newf(apperr.Conflict, bill.RelationBlocked, "Bill %d has rows in %s, so the split cannot be undone",
				b.LabBillID, around.Guarded[0])
		}
		if b.ID == p.new.ID && len(around.Attachments) > 0 {
			return errChanged
		}
	}
	return nil
}

// checkOrder refuses what is no split any more, and what other splits were made on since.
func (p pair) checkOrder() error {
	if p.record.MergedAt != 0 {
		return errMerged
	}
	for _, r := range slices.Backward(p.later) {
		if r.MergedAt == 0 {
			number := p.parent.LabBillID
			if r.ParentID == p.new.ID {
				number = p.new.LabBillID
			}
			return apperr.Newf(apperr.Conflict, "LATER_SPLIT",
				"Bill %d was split again since; merge bill %d (its id) first", number, r.NewID)
		}
	}
	return nil
}

// changedTests are the ids of tests that are not on the new bill as they moved there, in their order.
func (p pair) changedTests() []int64 {
	changed := map[int64]bool{}
	for _, row := range p.record.Rows {
		changed[row.ID] = !slices.Contains(p.rows, row)
	}
	for _, row := range p.rows {
		changed[row.ID] = !slices.Contains(p.record.Rows, row)
	}
	maps.DeleteFunc(changed, func(_ int64, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(changed))
}

// headsChanged reports whether someone wrote either bill since. Each later split and its undoing wrote its bill once.
func (p pair) headsChanged() bool {
	versions := map[int64]int64{p.parent.ID: p.record.ParentVersion, p.new.ID: 0}
	for _, r := range p.later {
		versions[r.ParentID] += 2
	}
	return p.parent.Amounts != p.record.AfterParent || p.new.Amounts != p.record.AfterNew ||
		p.parent.Version != versions[p.parent.ID] || p.new.Version != versions[p.new.ID]
}

func (m *Merger) write(ctx context.Context, l Locked, r Request, p pair) ([]byte, error) {
	now := m.clock.Now()
	for _, step := range []func() error{
		func() error { return l.SetAmounts(ctx, p.parent.ID, p.record.Before) },
		func() error { return l.SetAmounts(ctx, p.new.ID, bill.Amounts{}) },
		func() error { return l.Move(ctx, p.new.ID, p.parent.ID, p.record.Moved) },
		func() error { return l.Cancel(ctx, p.new.ID) },
		func() error { return l.RestoreSmartReports(ctx, p.parent.ID, p.record.SmartReports) },
		func() error { return l.Undone(ctx, p.new.ID, r.Actor, now.UnixMilli()) },
		func() error { return m.log(ctx, l, r, p, p.parent.ID, p.parent.Amounts, p.record.Before, now) },
		func() error { return m.log(ctx, l, r, p, p.new.ID, p.new.Amounts, bill.Amounts{}, now) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(split.Result{
		Original: split.Summary{ID: p.parent.ID, LabBillID: p.parent.LabBillID, Total: p.record.Before.Total},
		New:      split.Summary{ID: p.new.ID, LabBillID: p.new.LabBillID},
	})
}

// log appends the entry of one of the two bills.
func (m *Merger) log(
	ctx context.Context, l Locked, r Request, p pair, billID int64, before, after bill.Amounts, now time.Time,
) error {
	return l.Log(ctx, activitylog.Entry{
		Category: activitylog.BillMerged, Context: split.LogContext, BillID: billID, Actor: r.Actor, At: now,
		Text: fmt.Sprintf("Bill %d was merged back into bill %d", p.new.LabBillID, p.parent.LabBillID),
		Meta: split.NewMeta(p.record.Record, before, after),
	})
}
