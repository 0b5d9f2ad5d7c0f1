package configure

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Bounds of a write.
const (
	MaxElements = 500
	MinTarget   = 1
	MaxTarget   = 10_000
)

// Write is a request to change a scope.
type Write struct {
	TestID int64
	Owner  mapping.Owner
	// Elements of the request, in its order.
	Elements []Element
	// Complete refuses elements that leave out the key, the cell or the parameter.
	Complete bool
	// CopyDefaults starts a laboratory's first write from a copy of the defaults.
	CopyDefaults bool
	Target       *int // nil: stays
	Actor        authn.Actor
}

// Element is one mapping of a request. A nil part is not given. FormatID names the parameter by its report format.
type Element struct {
	mapping.Change
	FormatID *int64
}

// Outcome tells what a write did.
type Outcome struct {
	Inserted, Updated int
	Rows              []mapping.Row // the whole scope afterwards
}

// Write changes the scope, all or nothing.
func (c *Configurer) Write(ctx context.Context, w Write) (Outcome, error) {
	if err := w.check(); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	err := c.store.Lock(ctx, w.TestID, w.Owner, func(l Locked) error {
		var err error
		out, err = w.apply(ctx, l)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	c.observer.Saved(out.Inserted, out.Updated)
	return out, nil
}

func (w Write) check() error {
	switch {
	case w.Owner.IsNobody():
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

// incomplete returns the first field that the element lacks.
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

func (w Write) apply(ctx context.Context, l Locked) (Outcome, error) {
	present, err := l.Rows(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if len(present) == 0 && w.CopyDefaults && !w.Owner.AreDefaults() {
		return w.onDefaults(ctx, l)
	}
	plan, err := w.plan(ctx, l, present)
	if err != nil {
		return Outcome{}, err
	}
	return w.commit(ctx, l, plan)
}

// onDefaults plans the write on a copy of the defaults, all rows of which are new to the laboratory.
func (w Write) onDefaults(ctx context.Context, l Locked) (Outcome, error) {
	rows, err := l.Defaults(ctx)
	if err != nil {
		return Outcome{}, err
	}
	for i := range rows {
		rows[i].ID = 0
	}
	plan, err := w.plan(ctx, l, rows)
	if err != nil {
		return Outcome{}, err
	}
	plan.Remove, plan.Write = nil, plan.Result
	for i := range plan.Write {
		plan.Write[i].ID = 0
	}
	plan.Inserted, plan.Updated = len(plan.Write), 0
	return w.commit(ctx, l, plan)
}

func (w Write) commit(ctx context.Context, l Locked, plan mapping.Plan) (Outcome, error) {
	if err := l.Apply(ctx, plan, w.Actor); err != nil {
		return Outcome{}, err
	}
	if w.Target != nil {
		if err := l.SetTarget(ctx, *w.Target); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{Inserted: plan.Inserted, Updated: plan.Updated, Rows: plan.Result}, nil
}

// plan resolves the elements against the test's format and the cells, and plans them on rows.
func (w Write) plan(ctx context.Context, l Locked, rows []mapping.Row) (mapping.Plan, error) {
	formats, err := l.Formats(ctx)
	if err != nil {
		return mapping.Plan{}, err
	}
	changes, err := w.resolve(formats)
	if err != nil {
		return mapping.Plan{}, err
	}
	plan, err := mapping.NewPlan(rows, changes)
	if err != nil {
		return mapping.Plan{}, err
	}
	return plan, w.checkCells(ctx, l, plan.Previous)
}
