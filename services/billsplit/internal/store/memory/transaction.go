package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// transaction implements split.Locked and family.Locked on a copy that the store keeps when the work succeeds.
type transaction struct {
	State

	lab authn.LabScope
}

var (
	_ family.Locked = (*transaction)(nil)
	_ split.Facts   = (*transaction)(nil)
	_ split.Locked  = (*transaction)(nil)
)

func (t *transaction) Bill(_ context.Context, id int64) (*bill.Bill, error) {
	b, ok := t.Bills[id]
	if !ok || b.LabID != t.lab.LabID() {
		return nil, nil
	}
	return &b.Bill, nil
}

func (t *transaction) Rows(_ context.Context, billID int64) ([]bill.Row, error) {
	var rows []bill.Row
	for _, test := range t.Tests {
		if test.BillID == billID && t.Bills[billID].LabID == t.lab.LabID() {
			rows = append(rows, test.Row)
		}
	}
	slices.SortFunc(rows, func(a, b bill.Row) int { return cmp.Compare(a.ID, b.ID) })
	return rows, nil
}

func (t *transaction) Around(_ context.Context, billID int64, tests []int64) (bill.Surroundings, error) {
	var around bill.Surroundings
	for _, g := range bill.Guards() {
		if slices.ContainsFunc(t.Guards[g.Table], func(r GuardRow) bool {
			return r.BillID == billID || g.PerRow && r.TestID != 0 && slices.Contains(tests, r.TestID)
		}) {
			around.Guarded = append(around.Guarded, g.Table)
		}
	}
	for _, a := range t.Attachments {
		if a.BillID == billID && a.Active && !slices.Contains(around.Attachments, a.Category) {
			around.Attachments = append(around.Attachments, a.Category)
		}
	}
	return around, nil
}

func (t *transaction) SplittingEnabled(context.Context) (bool, error) {
	return !t.SwitchedOff[t.lab.LabID()], nil
}

func (t *transaction) NextBillNumber(context.Context) (int64, error) {
	number := t.Counters[t.lab.LabID()]
	for _, b := range t.Bills {
		if b.LabID == t.lab.LabID() {
			number = max(number, b.LabBillID)
		}
	}
	t.Counters[t.lab.LabID()] = number + 1
	return number + 1, nil
}

func (t *transaction) OrderNumbers(_ context.Context, prefix string) ([]string, error) {
	var orders []string
	for _, b := range t.Bills {
		if b.LabID == t.lab.LabID() && strings.HasPrefix(b.OrderNumber, prefix) {
			orders = append(orders, b.OrderNumber)
		}
	}
	return orders, nil
}

func (t *transaction) Create(_ context.Context, like int64, d split.Draft) (int64, error) {
	b := t.Bills[like]
	b.ID = slices.Max(slices.Collect(maps.Keys(t.Bills))) + 1
	b.LabBillID, b.OrderNumber, b.Source = d.LabBillID, d.OrderNumber, string(d.Source)
	b.Amounts, b.State, b.Version = d.Amounts, bill.State{}, 0
	t.Bills[b.ID] = b
	return b.ID, nil
}

// change edits a bill of the laboratory.
func (t *transaction) change(id int64, edit func(*Bill)) error {
	b, ok := t.Bills[id]
	if !ok || b.LabID != t.lab.LabID() {
		return fmt.Errorf("there is no bill %d", id)
	}
	edit(&b)
	t.Bills[id] = b
	return nil
}

func (t *transaction) SetAmounts(_ context.Context, billID int64, a bill.Amounts) error {
	return t.change(billID, func(b *Bill) { b.Amounts, b.Version = a, b.Version+1 })
}

func (t *transaction) Cancel(_ context.Context, billID int64) error {
	return t.change(billID, func(b *Bill) { b.State.Cancelled = true })
}

func (t *transaction) Move(_ context.Context, from, to int64, tests []int64) error {
	for _, id := range tests {
		test, ok := t.Tests[id]
		if !ok || test.BillID != from {
			return fmt.Errorf("test %d is not on bill %d", id, from)
		}
		test.BillID = to
		t.Tests[id] = test
	}
	for id, r := range t.Reports {
		if r.BillID == from && r.LabID == t.lab.LabID() && slices.Contains(tests, r.TestID) {
			r.BillID = to
			t.Reports[id] = r
		}
	}
	return nil
}

func (t *transaction) RetireSmartReports(_ context.Context, billID int64) ([]int64, error) {
	var ids []int64
	for id, a := range t.Attachments {
		if a.BillID == billID && a.Active && a.Category == bill.SmartReport {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, t.activate(ids, false)
}

func (t *transaction) RestoreSmartReports(_ context.Context, _ int64, ids []int64) error {
	return t.activate(ids, true)
}

func (t *transaction) activate(ids []int64, active bool) error {
	for _, id := range ids {
		a := t.Attachments[id]
		a.Active = active
		t.Attachments[id] = a
	}
	return nil
}

func (t *transaction) Record(_ context.Context, r split.Record) error {
	t.Splits = append(t.Splits, family.Record{Record: r})
	return nil
}

func (t *transaction) Split(_ context.Context, newBillID int64) (*family.Record, error) {
	for _, r := range t.Splits {
		if r.NewID == newBillID && t.Bills[newBillID].LabID == t.lab.LabID() {
			return &r, nil
		}
	}
	return nil, nil
}

func (t *transaction) SplitsOf(_ context.Context, billID int64) ([]family.Record, error) {
	var splits []family.Record
	for _, r := range t.Splits {
		if r.ParentID == billID && t.Bills[billID].LabID == t.lab.LabID() {
			splits = append(splits, r)
		}
	}
	return splits, nil
}

func (t *transaction) Undone(_ context.Context, newBillID int64, _ authn.Actor, at int64) error {
	for i, r := range t.Splits {
		if r.NewID == newBillID {
			t.Splits[i].MergedAt = at
		}
	}
	return nil
}

func (t *transaction) Log(_ context.Context, e activitylog.Entry) error {
	t.State.Log = append(t.State.Log, e)
	return nil
}

func (s *Store) Family(ctx context.Context, lab authn.LabScope, billID int64) ([]family.Member, error) {
	t := &transaction{State: s.State(), lab: lab}
	root := billID
	for r, _ := t.Split(ctx, root); r != nil; r, _ = t.Split(ctx, root) {
		root = r.ParentID
	}
	var members []family.Member
	for ids := []int64{root}; len(ids) > 0; ids = ids[1:] {
		b, _ := t.Bill(ctx, ids[0])
		if b == nil {
			continue
		}
		rows, _ := t.Rows(ctx, b.ID)
		origin, _ := t.Split(ctx, b.ID)
		m := family.Member{Bill: *b, Origin: origin}
		for _, r := range rows {
			m.Tests = append(m.Tests, family.Test{Row: r, Name: t.Tests[r.ID].Name})
		}
		members = append(members, m)
		for _, r := range t.Splits {
			if r.ParentID == b.ID {
				ids = append(ids, r.NewID)
			}
		}
	}
	slices.SortFunc(members, func(a, b family.Member) int { return cmp.Compare(a.Bill.ID, b.Bill.ID) })
	return members, nil
}
