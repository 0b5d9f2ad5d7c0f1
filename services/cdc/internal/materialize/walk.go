package materialize

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
)

// Position is how far a walk came. Mark distinguishes two walks that came equally far.
type Position struct {
	UserID int64 // the last patient that was computed
	Mark   int64
}

// Walks keeps the position of the one walk over all patients, durably. A restart wins over the process that walks:
// Advance and Finish do nothing and say so when the position is not the given one any more.
type Walks interface {
	// Restart asks for a walk from the first patient on.
	Restart(ctx context.Context) error
	// Position returns where the walk stands; not ok when none is due.
	Position(ctx context.Context) (p Position, ok bool, err error)
	Advance(ctx context.Context, from Position, userID int64) (to Position, ok bool, err error)
	Finish(ctx context.Context, at Position) (ok bool, err error)
	// UserIDs returns up to limit ids of all patients above after, ascending.
	UserIDs(ctx context.Context, after int64, limit int) ([]int64, error)
}

// Phases tells the present phase.
type Phases interface {
	Phase(ctx context.Context) (phase.Phase, error)
}

// WalkerDeps are what a Walker needs.
type WalkerDeps struct {
	Walks    Walks
	Phases   Phases
	Users    Users
	Chunk    int           // patients in one step
	Interval time.Duration // how often to look for a walk that is due
	Log      *slog.Logger
}

// Walker computes all patients once more when that is due: after the migration of user_meta, during which changes
// passed that no one indexed, and after a source table was emptied. Rows are written even when they are equal, so that
// each passes the index. It resumes where it stopped; two walkers at once only waste work.
type Walker struct{ d WalkerDeps }

// NewWalker returns a Walker.
func NewWalker(d WalkerDeps) *Walker { return &Walker{d} }

// Truncated implements Tables: no event names the deleted rows, so every patient is computed again.
func (w *Walker) Truncated(ctx context.Context, table string) error {
	w.d.Log.Warn("a captured table was truncated; all patients are computed again", "table", table)
	return w.d.Walks.Restart(ctx)
}

// Run looks for a walk that is due, and walks, until ctx ends.
func (w *Walker) Run(ctx context.Context) error {
	return lifecycle.Every(ctx, w.d.Interval, w.d.Log, "walk over all patients", w.RunOnce)
}

// RunOnce walks to the end if a walk is due. Before the migration of user_meta is over it is not begun.
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

// step computes one chunk and returns the new position, nil at the end.
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

// movedByAnother returns the position after someone else moved it.
func (w *Walker) movedByAnother(ctx context.Context) (*Position, int, error) {
	at, due, err := w.d.Walks.Position(ctx)
	if err != nil || !due {
		return nil, 0, err
	}
	return &at, 0, nil
}
