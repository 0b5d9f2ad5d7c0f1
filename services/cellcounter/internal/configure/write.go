package configure

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Limits of a write.
const (
	MaxElements = 500
	MinTarget   = 1
	MaxTarget   = 10_000
)

// Write is a request to change a scope.
type Write struct {
	TestID int64
	Owner  mapping.Owner
	// Elements are the mappings of the request, in its order.
	Elements []Element
	// Complete requires each element to have a key, a cell and a parameter.
	Complete bool
	// CopyDefaults makes a laboratory's first write begin with a copy of the defaults.
	CopyDefaults bool
	Target       *int // nil: no change
	Actor        authn.Actor
}

// Element is one mapping of a request. Nil fields are absent. FormatID identifies the parameter by its report format.
type Element struct {
	mapping.Change
	FormatID *int64
}

// Write changes the scope, all or nothing, and returns the applied decision.
func (c *Configurer) Write(ctx context.Context, w Write) (Decision, error) {
	if err := w.check(); err != nil {
		return Decision{}, err
	}
	now := c.clock.Now()
	d, err := c.store.ChangeMappings(ctx, w.TestID, w.Owner,
		func(f Facts) (Decision, error) { return w.Decide(f, now) })
	if err != nil {
		return Decision{}, err
	}
	c.observer.Saved(d.Inserted, d.Updated)
	return d, nil
}

func (w Write) check() error {
	switch {
	case w.Owner.IsNone():
		return mapping.ErrNoTest
	case len(w.Elements) == 0 && w.Target == nil:
		return apperr.InvalidField("mappings", "mappings must have at least one element, or give a target_count")
	case len(w.Elements) > MaxElements:
		return apperr.InvalidField("mappings", "mappings must have at most 500 elements; send fewer at a time")
	case w.Target != nil && (*w.Target < MinTarget || *w.Target > MaxTarget):
		return apperr.InvalidField("target_count", "target_count must be from 1 to 10000")
	}
	var fields []apperr.Field
	for i, e := range w.Elements {
		if field, message := e.incomplete(w.Complete); field != "" {
			fields = append(fields, apperr.Field{Index: i, Name: field, Message: message})
		}
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	return nil
}

// incomplete returns the first required field that the element lacks, with a message.
func (e Element) incomplete(complete bool) (field, message string) {
	switch {
	case !complete && e.Key == nil && e.Parameter == nil && e.FormatID == nil:
		return "key", "give a key, or a parameter as report_format_id or report_format_index and report_format_order"
	case complete && e.Key == nil:
		return "key", "key is required"
	case complete && e.CellID == nil:
		return "cell_id", "cell_id is required"
	case complete && e.Parameter == nil && e.FormatID == nil:
		return "report_format_index", "report_format_index and report_format_order are required"
	}
	return "", ""
}

// Decide applies the write to the scope's mappings. With CopyDefaults, a laboratory without mappings begins with a copy
// of the defaults as new rows.
func (w Write) Decide(f Facts, now time.Time) (Decision, error) {
	rows, copied := f.Rows, false
	if len(rows) == 0 && w.CopyDefaults && !w.Owner.AreDefaults() {
		rows, copied = withoutIDs(f.Defaults), true
	}
	changes, err := w.resolve(f.Formats, f.Cells)
	if err != nil {
		return Decision{}, err
	}
	plan, err := mapping.NewPlan(rows, changes)
	if err != nil {
		return Decision{}, err
	}
	if err := w.checkCells(f.Cells, plan.Previous); err != nil {
		return Decision{}, err
	}
	d := Decision{Write: plan.Write, Rows: plan.Result, Inserted: plan.Inserted, Updated: plan.Updated,
		Target: w.Target, By: w.Actor, At: now.Unix(), Warnings: w.warnings(f.Cells, plan.Write)}
	if copied {
		d.Write, d.Inserted, d.Updated = plan.Result, len(plan.Result), 0
	}
	return d, nil
}

func withoutIDs(rows []mapping.Row) []mapping.Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].ID = 0
	}
	return rows
}
