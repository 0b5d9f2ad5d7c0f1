package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Refusal is a patient whose row the database rejects, or whose document the index rejects. Only a change of the
// sources or the mapping fixes it.
type Refusal struct {
	UserID int64
	Rev    int64 // revision of the row
	By     string
	Why    string // error type of the database or the index; never contains a value
}

// String returns ids and reasons, but no patient data.
func (r Refusal) String() string {
	return fmt.Sprintf("patient %d: the %s refuses revision %d: %s", r.UserID, r.By, r.Rev, r.Why)
}

// Repair repairs persistent differences. It returns the patients whose row or document is rejected; the others are
// repaired nevertheless. It is idempotent and can be interrupted: the next comparison finds the rest. It does not wait
// for the repairs to pass the pipeline. The error is a fault.
//
// A document that is missing or outdated is written from the row at the row's own revision. If the index rejects it,
// the rejection is reported here, without another dead letter in the pipeline. All other repairs create a new revision.
func (r *Reconciler) Repair(ctx context.Context, differences []Difference) ([]Refusal, error) {
	m := newRepairs(differences, r.maker)
	if err := r.remove(ctx, m.removals); err != nil {
		return nil, err
	}
	strangers := slices.DeleteFunc(m.strangers, func(id int64) bool { return m.sources[id] })
	if err := r.forget(ctx, strangers, m.targets); err != nil {
		return nil, err
	}
	refused, superseded, err := r.rewrite(ctx, m.behind)
	if err != nil {
		return nil, err
	}
	for _, id := range superseded {
		m.target(id).Force = true
	}
	more, err := r.recompute(ctx, m.targets)
	return append(refused, more...), err
}

// repairs collects the operations that repair differences.
type repairs struct {
	removals  []document.Op
	strangers []int64
	behind    []int64                       // patients whose document is written from the row
	sources   map[int64]bool                // patients found in the sources
	targets   map[int64]*materialize.Target // patients whose row needs a new revision
}

func newRepairs(differences []Difference, maker *document.Maker) *repairs {
	m := &repairs{sources: map[int64]bool{}, targets: map[int64]*materialize.Target{}}
	for _, d := range differences {
		if d.behind() {
			m.behind = append(m.behind, d.UserID)
			continue
		}
		m.add(d, maker)
	}
	slices.Sort(m.behind)
	m.behind = slices.Compact(m.behind)
	return m
}

func (m *repairs) add(d Difference, maker *document.Maker) {
	t := m.target(d.UserID)
	if d.Kind == Projection {
		m.sources[d.UserID] = true
		return // a differing row is written in any case
	}
	t.Force, t.IndexVersion = true, max(t.IndexVersion, d.Version)
	if d.Kind == Orphan || d.Kind == WrongRoute {
		op := maker.Delete(d.UserID, d.Route, document.RevOf(d.Version))
		t.IndexVersion = max(t.IndexVersion, op.Version)
		m.removals = append(m.removals, op)
	}
	if d.Kind == Orphan {
		m.strangers = append(m.strangers, d.UserID)
	}
}

func (m *repairs) target(user int64) *materialize.Target {
	if m.targets[user] == nil {
		m.targets[user] = &materialize.Target{UserID: user}
	}
	return m.targets[user]
}

// rewrite writes the documents of patients from their current rows. It returns as superseded the patients for whom the
// index has a higher version, for example of a deleted document that should exist. They need a new revision.
func (r *Reconciler) rewrite(ctx context.Context, ids []int64) (refused []Refusal, superseded []int64, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	target, err := r.d.Documents.Target(ctx, r.d.Target)
	if err != nil {
		return nil, nil, err
	}
	for page := range slices.Chunk(ids, pageSize) {
		rows, err := r.d.Rows.RowsByID(ctx, page)
		if err != nil {
			return nil, nil, err
		}
		some, newer, err := r.writeRows(ctx, target, rows)
		if err != nil {
			return nil, nil, err
		}
		refused, superseded = append(refused, some...), append(superseded, newer...)
	}
	return refused, superseded, nil
}

func (r *Reconciler) writeRows(
	ctx context.Context, target indexsync.Target, rows []projection.Row,
) (refused []Refusal, superseded []int64, err error) {
	var ops []document.Op
	for i := range rows {
		ops = append(ops, r.maker.Of(target.Schema).Write(&rows[i])...)
	}
	if len(ops) == 0 {
		return nil, nil, nil
	}
	fates, err := r.d.Writer.Write(ctx, target.Alias, ops)
	if err != nil {
		return nil, nil, err
	}
	for i, fate := range fates {
		own := i == len(ops)-1 || ops[i+1].ID != ops[i].ID // the last operation of a patient is the document
		switch {
		case fate.Verdict == indexsync.Poison:
			refused = append(refused, Refusal{ops[i].ID, document.RevOf(ops[i].Version), "index", fate.Kind})
		case fate.Verdict == indexsync.Superseded && own:
			superseded = append(superseded, ops[i].ID)
		}
	}
	return refused, superseded, nil
}

// forget removes patients without a projection row from targets: their document was deleted, and there is none to
// write. A patient with a row in another laboratory stays a target: if both routes lead to the same shard, the deletion
// also removed that laboratory's document.
func (r *Reconciler) forget(ctx context.Context, strangers []int64, targets map[int64]*materialize.Target) error {
	for page := range slices.Chunk(strangers, pageSize) {
		rows, err := r.d.Rows.RowsByID(ctx, page)
		if err != nil {
			return err
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
		return err
	}
	for _, fate := range fates {
		if fate.Verdict == indexsync.Poison {
			return outcome.Operator(fmt.Errorf("the index refuses to delete a document: %s", fate.Kind),
				"look at the log of Elasticsearch")
		}
	}
	return nil
}

func (r *Reconciler) recompute(ctx context.Context, targets map[int64]*materialize.Target) ([]Refusal, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	all := make([]materialize.Target, 0, len(targets))
	for _, t := range targets {
		all = append(all, *t)
	}
	summary, err := r.d.Users.Recompute(ctx, all)
	if err != nil {
		return nil, err
	}
	var refused []Refusal
	for _, id := range slices.Sorted(maps.Keys(summary.Poison)) {
		refused = append(refused, Refusal{UserID: id, By: "database", Why: summary.Poison[id].Reason})
	}
	return refused, nil
}
