package memory

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Documents holds records and values.
type Documents struct {
	mu      sync.Mutex
	records []document // guarded by mu
	values  []rerun.Value
}

// document is a record with the slots that unique indexes guard.
type document struct {
	rerun.Record
	auto bool // holds the automatic slot
}

// NewDocuments returns an empty store.
func NewDocuments() *Documents { return &Documents{} }

// Insert adds a record; rerun.ErrDuplicate when a slot or the number is taken.
func (d *Documents) Insert(_ context.Context, r rerun.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	auto := r.Type == rerun.Auto
	for _, o := range d.records {
		same := o.ReportID == r.ReportID
		if o.ID == r.ID || same && (o.Number == r.Number || o.Active && r.Active || o.auto && auto) {
			return rerun.ErrDuplicate
		}
	}
	d.records = append(d.records, document{cloned(r), auto})
	return nil
}

func cloned(r rerun.Record) rerun.Record {
	r.Requested, r.ParameterNames = slices.Clone(r.Requested), slices.Clone(r.ParameterNames)
	return r
}

// OfReport returns the report's records in the order of their numbers.
func (d *Documents) OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error) {
	return d.OfReports(ctx, scope, []int64{reportID})
}

// OfReports returns the records of several reports.
func (d *Documents) OfReports(_ context.Context, scope authn.LabScope, ids []int64) ([]rerun.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := []rerun.Record{}
	for _, r := range d.records {
		if r.LabID == scope.LabID() && slices.Contains(ids, r.ReportID) {
			found = append(found, cloned(r.Record))
		}
	}
	slices.SortFunc(found, func(a, b rerun.Record) int { return cmp.Compare(a.Number, b.Number) })
	return found, nil
}

// Values returns the report's values ordered by rerun number, order and index.
func (d *Documents) Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error) {
	return d.ValuesOfReports(ctx, scope, []int64{reportID})
}

// ValuesOfReports returns the values of several reports.
func (d *Documents) ValuesOfReports(_ context.Context, scope authn.LabScope, ids []int64) ([]rerun.Value, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := []rerun.Value{}
	for _, v := range d.values {
		if v.LabID == scope.LabID() && slices.Contains(ids, v.ReportID) {
			v.History = slices.Clone(v.History)
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b rerun.Value) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Index, b.Index))
	})
	return found, nil
}

// Close frees the open slot.
func (d *Documents) Close(_ context.Context, scope authn.LabScope, id string) error {
	return d.change(scope, id, func(r *document) { r.Active = false })
}

// Retire frees both slots.
func (d *Documents) Retire(_ context.Context, scope authn.LabScope, id string) error {
	return d.change(scope, id, func(r *document) { r.Active, r.auto = false, false })
}

// Reopen takes the open slot again; it fails when another record has it.
func (d *Documents) Reopen(_ context.Context, scope authn.LabScope, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.records, func(r document) bool { return r.ID == id && r.LabID == scope.LabID() })
	if i < 0 {
		return nil
	}
	for j, o := range d.records {
		if j != i && o.ReportID == d.records[i].ReportID && o.Active {
			return rerun.ErrDuplicate
		}
	}
	d.records[i].Active = true
	return nil
}

func (d *Documents) change(scope authn.LabScope, id string, change func(*document)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.records {
		if d.records[i].ID == id && d.records[i].LabID == scope.LabID() {
			change(&d.records[i])
		}
	}
	return nil
}

// Delete removes records; those that are not there are not errors.
func (d *Documents) Delete(_ context.Context, scope authn.LabScope, ids ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records = slices.DeleteFunc(d.records, func(r document) bool {
		return r.LabID == scope.LabID() && slices.Contains(ids, r.ID)
	})
	return nil
}

// InsertValues adds values one after the other; rerun.ErrDuplicate at the first that is stored already.
func (d *Documents) InsertValues(_ context.Context, values []rerun.Value) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range values {
		if slices.ContainsFunc(d.values, func(o rerun.Value) bool {
			return o.ID == v.ID || o.ReportID == v.ReportID && o.Number == v.Number && o.Index == v.Index
		}) {
			return rerun.ErrDuplicate
		}
		v.History = slices.Clone(v.History)
		d.values = append(d.values, v)
	}
	return nil
}

// ReplaceValue stores what followed an earlier value, with its history.
func (d *Documents) ReplaceValue(_ context.Context, scope authn.LabScope, v rerun.Value) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, o := range d.values {
		if o.ID == v.ID && o.LabID == scope.LabID() {
			v.History = slices.Clone(v.History)
			d.values[i] = v
		}
	}
	return nil
}

// DeleteValues removes values; those that are not there are not errors.
func (d *Documents) DeleteValues(_ context.Context, scope authn.LabScope, ids []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values = slices.DeleteFunc(d.values, func(v rerun.Value) bool {
		return v.LabID == scope.LabID() && slices.Contains(ids, v.ID)
	})
	return nil
}

// Laboratories returns those that have documents of this service.
func (d *Documents) Laboratories(context.Context) ([]int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []int64
	for _, r := range d.records {
		if !r.Foreign {
			ids = append(ids, r.LabID)
		}
	}
	for _, v := range d.values {
		if !v.Foreign {
			ids = append(ids, v.LabID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// StaleReports returns at most limit reports above after, ascending, that have own documents older than before.
func (d *Documents) StaleReports(
	_ context.Context, scope authn.LabScope, before time.Time, after int64, limit int,
) ([]int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []int64
	add := func(labID, reportID int64, createdAt time.Time, foreign bool) {
		if labID == scope.LabID() && reportID > after && createdAt.Before(before) && !foreign {
			ids = append(ids, reportID)
		}
	}
	for _, r := range d.records {
		add(r.LabID, r.ReportID, r.CreatedAt, r.Foreign)
	}
	for _, v := range d.values {
		add(v.LabID, v.ReportID, v.CreatedAt, v.Foreign)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), limit)], nil
}

// Disown makes every record another program's.
func (d *Documents) Disown() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.records {
		d.records[i].Foreign = true
	}
}
