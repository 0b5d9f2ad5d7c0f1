package family

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// Reasons why a split cannot be undone.
var (
	errNotSplit = apperr.New(apperr.Conflict, "BILL_NOT_SPLIT",
		"This bill was not made by a split; name the new bill of a split")
	errMerged  = apperr.New(apperr.Conflict, "BILL_ALREADY_MERGED", "This bill was merged back already")
	errChanged = apperr.New(apperr.Conflict, "BILL_CHANGED",
		"One of the two bills changed since the split, so it cannot be undone; correct the bills by hand")
	errPayerChanged = apperr.New(apperr.Conflict, errChanged.Reason,
		"The source, the organization or the patient of the new bill changed since the split, so it cannot be undone;"+
			" change it back first, or correct the bills by hand")
)

// Decision holds the changes that undo a split.
type Decision struct {
	Record  Record
	By      authn.Actor
	At      int64               // epoch milliseconds
	Entries []activitylog.Entry // one per bill
	// Reports created from the results of either bill since the split. Undoing the split makes them outdated.
	RetiredOfParent, RetiredOfNew []int64
	// Restored are the smart reports that the split deactivated; nil if a result has changed since.
	Restored []int64

	parent, new bill.Bill
}

// Decide returns the decision to undo a split, if both bills are as the split left them. Errors: ErrNoBill, and
// Conflict, which states what has changed.
func Decide(f Facts, by authn.Actor, now time.Time) (Decision, error) {
	p, err := pairOf(f)
	if err != nil {
		return Decision{}, err
	}
	if err := p.check(f); err != nil {
		return Decision{}, err
	}
	d := Decision{Record: p.record, By: by, At: now.UnixMilli(), parent: p.parent, new: p.new,
		RetiredOfParent: f.ParentReports, RetiredOfNew: f.NewReports}
	if !f.ResultsChanged {
		d.Restored = p.record.SmartReports
	}
	d.Entries = []activitylog.Entry{
		d.entry(p.parent.ID, p.parent.Amounts, p.record.Before, now), d.entry(p.new.ID, p.new.Amounts, bill.Amounts{}, now),
	}
	return d, nil
}

func (d Decision) entry(billID int64, before, after bill.Amounts, now time.Time) activitylog.Entry {
	return activitylog.Entry{
		Category: activitylog.BillMerged, Context: split.LogContext, BillID: billID, Actor: d.By, At: now,
		Text: fmt.Sprintf("Bill %d was merged back into bill %d", d.new.LabBillID, d.parent.LabBillID),
		Meta: split.NewMeta(d.Record.Record, before, after),
	}
}

// Answer returns the response to the request, as it is stored.
func (d Decision) Answer() ([]byte, error) {
	return json.Marshal(split.Result{
		Original: split.Summary{ID: d.parent.ID, LabBillID: d.parent.LabBillID, Total: d.Record.Before.Total},
		New:      split.Summary{ID: d.new.ID, LabBillID: d.new.LabBillID},
	})
}

// pair holds both bills of a split.
type pair struct {
	record      Record
	parent, new bill.Bill
	rows        []bill.Row // tests of the new bill
	later       []Record   // later splits of either bill
}

func pairOf(f Facts) (pair, error) {
	switch {
	case f.New == nil:
		return pair{}, ErrNoBill
	case f.Record == nil:
		return pair{}, errNotSplit
	case f.Parent == nil:
		return pair{}, ErrNoBill
	}
	earlier := func(r Record) bool { return r.NewID <= f.New.ID }
	later := slices.Concat(slices.DeleteFunc(slices.Clone(f.OfParent), earlier), f.OfNew)
	return pair{record: f.Record.completed(f), parent: *f.Parent, new: *f.New, rows: f.Rows, later: later}, nil
}

// completed adds data that records of version 1.0 lack. That version copied the organization of the original, and did
// not change what patients pay for tests.
func (r Record) completed(f Facts) Record {
	if !r.Old {
		return r
	}
	r.NewPayer = bill.Payer{Source: f.New.Source, OrgID: f.Parent.OrgID}
	r.Rows = slices.Clone(r.Rows)
	for i := range r.Rows {
		for _, now := range f.Rows {
			if now.ID == r.Rows[i].ID {
				r.Rows[i].PatientPayable = now.PatientPayable
			}
		}
	}
	return r
}

// check returns an error if either bill changed since the split.
func (p pair) check(f Facts) error {
	if err := p.checkOrder(); err != nil {
		return err
	}
	if changed := p.changedTests(); len(changed) > 0 {
		return apperr.Newf(apperr.Conflict, errChanged.Reason, "The split cannot be undone because these tests: %s, changed"+
			" since; correct the bills by hand", bill.List(changed))
	}
	if p.new.Payer() != p.record.NewPayer || p.new.PatientID != p.parent.PatientID {
		return errPayerChanged
	}
	if p.headsChanged() || !p.parent.Insured() {
		return errChanged
	}
	if err := checkFree(p.parent, f.AroundParent); err != nil {
		return err
	}
	if err := checkFree(p.new, f.AroundNew); err != nil {
		return err
	}
	if slices.ContainsFunc(f.AroundNew.Attachments, func(category string) bool {
		return !strings.EqualFold(category, bill.SmartReport)
	}) {
		return errChanged
	}
	return nil
}

// checkFree returns an error for a bill that must not change any more or on which another part of the platform depends.
func checkFree(b bill.Bill, around bill.Surroundings) error {
	if words := b.State.Blocks(); len(words) > 0 {
		return apperr.Newf(apperr.Conflict, bill.InvalidState, "Bill %d is %s, so the split cannot be undone",
			b.LabBillID, words[0])
	}
	if len(around.Guarded) > 0 {
		return apperr.Newf(apperr.Conflict, bill.RelationBlocked, "Bill %d has rows in %s, so the split cannot be undone",
			b.LabBillID, around.Guarded[0])
	}
	return nil
}

// checkOrder returns an error if the split was undone already, or if a later split of either bill has to be undone
// first.
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

// changedTests returns the ids, in ascending order, of tests that are not on the new bill as they were moved to it.
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

// headsChanged reports whether either bill was written since the split, except by later splits and their undoing, which
// write a bill once each.
func (p pair) headsChanged() bool {
	versions := map[int64]int64{p.parent.ID: p.record.ParentVersion, p.new.ID: 0}
	for _, r := range p.later {
		versions[r.ParentID] += 2
	}
	return p.parent.Amounts != p.record.AfterParent || p.new.Amounts != p.record.AfterNew ||
		p.parent.Version != versions[p.parent.ID] || p.new.Version != versions[p.new.ID]
}
