package reconcile

import (
	"context"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Repair mends differences that stay. It may be repeated, and it may stop half-way: what is left is found again. It
// does not wait until the pipeline has passed what it set in motion. The error is a fault.
func (r *Reconciler) Repair(ctx context.Context, differences []Difference) error {
	var ops []document.Op
	var strangers []int64
	sources := map[int64]bool{} // patients whom the sources have
	targets := map[int64]*materialize.Target{}
	for _, d := range differences {
		t := targets[d.UserID]
		if t == nil {
			t = &materialize.Target{UserID: d.UserID}
			targets[d.UserID] = t
		}
		if d.Kind == Projection {
			sources[d.UserID] = true
			continue // a row that differs is written anyway
		}
		t.Force, t.IndexVersion = true, max(t.IndexVersion, d.Version)
		if d.Kind == Orphan || d.Kind == WrongRoute {
			op := r.maker.Delete(d.UserID, d.Route, document.RevOf(d.Version))
			t.IndexVersion = max(t.IndexVersion, op.Version)
			ops = append(ops, op)
		}
		if d.Kind == Orphan {
			strangers = append(strangers, d.UserID)
		}
	}
	if err := r.remove(ctx, ops); err != nil {
		return err
	}
	strangers = slices.DeleteFunc(strangers, func(id int64) bool { return sources[id] })
	if err := r.forget(ctx, strangers, targets); err != nil {
		return err
	}
	return r.recompute(ctx, targets)
}

// forget takes patients out of targets who have no row anywhere: their documents are gone, and nothing is to be made.
// The others live in another laboratory, whose document may have shared the shard of the one that was deleted.
func (r *Reconciler) forget(ctx context.Context, strangers []int64, targets map[int64]*materialize.Target) error {
	for page := range slices.Chunk(strangers, pageSize) {
		rows, err := r.d.Rows.RowsByID(ctx, page)
		if err != nil {
			return err //nolint:wrapcheck // a fault as it is
		}
		for _, id := range page {
			if !slices.ContainsFunc(rows, func(row projection.Row) bool { return row.UserID == id }) {
				delete(targets, id)
			}
		}
	}
	return nil
}

func (r *Reconciler) remove(ctx context.Context, ops []document.Op) error {
	if len(ops) == 0 {
		return nil
	}
	fates, err := r.d.Writer.Write(ctx, r.d.Target, ops)
	if err != nil {
		return err //nolint:wrapcheck // a fault as it is
	}
	for _, fate := range fates {
		if fate.Verdict == indexsync.Poison {
			return outcome.Operator(
				fmt.Errorf("the index refuses to delete a document: %s", fate.Kind),
				"look at the log of Elasticsearch",
			)
		}
	}
	return nil
}

func (r *Reconciler) recompute(ctx context.Context, targets map[int64]*materialize.Target) error {
	if len(targets) == 0 {
		return nil
	}
	all := make([]materialize.Target, 0, len(targets))
	for _, t := range targets {
		all = append(all, *t)
	}
	summary, err := r.d.Users.Recompute(ctx, all)
	if err != nil {
		return err //nolint:wrapcheck // a fault as it is
	}
	if n := len(summary.Poison); n > 0 {
		return outcome.Operator(
			fmt.Errorf("the database refuses the rows of %d patients", n),
			"look into the dead-letter topic for their reasons",
		)
	}
	return nil
}
