package materialize

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
)

// Position is the progress of a full resync. Mark distinguishes two resyncs at the same patient.
type Position struct {
	UserID int64 // last recomputed patient
	Mark   int64
}

// Walks stores the position of the full resync durably. There is at most one. A restart takes precedence over a running
// resync: Advance and Finish change nothing and return false if the stored position differs from the given one.
type Walks interface {
	// Restart starts a full resync at the first patient.
	Restart(ctx context.Context) error
	// Position returns the position; ok is false if no full resync is due.
	Position(ctx context.Context) (p Position, ok bool, err error)
	Advance(ctx context.Context, from Position, userID int64) (to Position, ok bool, err error)
	Finish(ctx context.Context, at Position) (ok bool, err error)
	// UserIDs returns up to limit ids of patients above after, in ascending order.
	UserIDs(ctx context.Context, after int64, limit int) ([]int64, error)
}

// Phases returns the phase of the migration of user_meta.
type Phases interface {
	Phase(ctx context.Context) (phase.Phase, error)
}

// WalkerDeps are the dependencies and limits of a Walker.
type WalkerDeps struct {
	Walks    Walks
	Phases   Phases
	Users    Users
	Chunk    int           // patients per step
	Interval time.Duration // how often to check whether a full resync is due
	Log      *slog.Logger
}

// Walker runs full resyncs: after the migration of user_meta, during which changes were not indexed, after a source
// table was truncated, after changes were lost, and on command. It writes rows even if they are unchanged, so that
// every patient is indexed again. It resumes where it stopped; two walkers at the same time are harmless but duplicate
// work.
type Walker struct{ d WalkerDeps }

// NewWalker returns a Walker; Run starts it.
func NewWalker(d WalkerDeps) *Walker { return &Walker{d} }

// Truncated starts a full resync, because a truncation has no events for the deleted rows.
func (w *Walker) Truncated(ctx context.Context, table string) error {
	w.d.Log.Warn("a captured table was truncated; all patients are computed again", "table", table)
	return w.d.Walks.Restart(ctx)
}

// Run waits for full resyncs that are due and runs them, until ctx ends.
func (w *Walker) Run(ctx context.Context) error {
	return lifecycle.Every(ctx, w.d.Interval, w.d.Log, "walk over all patients", w.RunOnce)
}

// RunOnce runs a full resync to its end if one is due. It does not start one before the end of the migration of
// user_meta.
func (w *Walker) RunOnce(ctx context.Context) error {
	now, err := w.d.Phases.Phase(ctx)
	if err != nil || now != phase.Running {
		return err
	}
	at, due, err := w.d.Walks.Position(ctx)
	if err != nil || !due {
		return err
	}
	w.d.Log.Info("walk over all patients", "after_user_id", at.UserID)
	for users := 0; ; {
		next, n, err := w.step(ctx, at)
		users += n
		if err != nil {
			return err
		}
		if next == nil {
			w.d.Log.Info("walk over all patients done", "users", users)
			return nil
		}
		at = *next
	}
}

// step recomputes one chunk of patients. It returns the new position, or nil at the end, and the number of patients.
func (w *Walker) step(ctx context.Context, at Position) (*Position, int, error) {
	ids, err := w.d.Walks.UserIDs(ctx, at.UserID, w.d.Chunk)
	if err != nil {
		return nil, 0, err
	}
	if len(ids) == 0 {
		done, err := w.d.Walks.Finish(ctx, at)
		if err != nil || done {
			return nil, 0, err
		}
		return w.movedByAnother(ctx)
	}
	targets := make([]Target, len(ids))
	for i, id := range ids {
		targets[i] = Target{UserID: id, Force: true}
	}
	summary, err := w.d.Users.Recompute(ctx, targets)
	if err != nil {
		return nil, 0, err
	}
	for id, poison := range summary.Poison {
		w.d.Log.Error("patient left out of the walk: the database refuses the row", "user_id", id, "error", poison)
	}
	next, moved, err := w.d.Walks.Advance(ctx, at, ids[len(ids)-1])
	if err != nil || moved {
		return &next, len(ids), err
	}
	return w.movedByAnother(ctx)
}

// movedByAnother returns the position after another process changed it.
func (w *Walker) movedByAnother(ctx context.Context) (*Position, int, error) {
	at, due, err := w.d.Walks.Position(ctx)
	if err != nil || !due {
		return nil, 0, err
	}
	return &at, 0, nil
}
