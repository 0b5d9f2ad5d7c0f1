package split

import (
	"encoding/json"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Decision holds the changes of a split that passed all checks.
type Decision struct {
	Draft    Draft
	Record   Record // without the id of the new bill, which is known after the draft is stored
	Warnings []bill.Failure

	parent bill.Bill
	by     authn.Actor
	at     time.Time
}

// Decide returns the changes that split a bill. Errors: ErrSwitchedOff, *Refused if a check fails, or a Conflict if the
// order number cannot be extended for another split.
func (rules Rules) Decide(f Facts, r Request, now time.Time) (Decision, error) {
	a, err := rules.assess(f, r)
	if err != nil {
		return Decision{}, err
	}
	if all := append(a.failures, a.execution...); len(all) > 0 {
		return Decision{}, &Refused{all}
	}
	order, err := bill.NextOrder(a.bill.OrderNumber, f.OrderNumbers)
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Draft: Draft{LabBillID: f.NextNumber, OrderNumber: order, Source: r.Source, BilledAt: now.UTC(),
			Amounts: a.division.New},
		Record: Record{
			ParentID:      a.bill.ID,
			Moved:         bill.IDs(a.selection.Moved),
			Rows:          a.selection.Moved,
			ParentVersion: a.bill.Version + 1,
			Before:        a.bill.Amounts,
			AfterParent:   a.division.Parent,
			AfterNew:      a.division.New,
			SmartReports:  f.SmartReports,
			Results:       f.Results,
			BilledAt:      a.bill.BilledAt.UnixMilli(),
			NewPayer:      bill.Payer{Source: string(r.Source), OrgID: a.bill.OrgID},
			By:            authn.Actor{Kind: r.Actor.Kind, ID: r.Actor.ID},
			At:            now.UnixMilli(),
		},
		Warnings: a.notes, parent: *a.bill, by: r.Actor, at: now,
	}, nil
}

// RecordOf returns the record of the split with the id of the new bill.
func (d Decision) RecordOf(newID int64) Record {
	d.Record.NewID = newID
	return d.Record
}

// Answer returns the response to the request, as it is stored.
func (d Decision) Answer(newID int64) ([]byte, error) {
	return json.Marshal(Result{
		Original: Summary{d.parent.ID, d.parent.LabBillID, d.Record.AfterParent.Total},
		New:      Summary{newID, d.Draft.LabBillID, d.Record.AfterNew.Total},
		Warnings: d.Warnings,
	})
}
