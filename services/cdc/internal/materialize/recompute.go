package materialize

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Store recomputes rows of user_meta in one transaction.
type Store interface {
	// Recompute locks the rows of targets, which must be distinct and ordered by id, reads their sources, and writes the
	// computed rows. It is idempotent. The error is an *outcome.Fault, or a *Poison if the database rejects a row because
	// of its values; nothing is written then.
	Recompute(ctx context.Context, targets []Target) (Summary, error)
}

// Late accepts patients whose source rows were not readable within the time that a batch may wait. It recomputes them
// later or leaves them to the reconciliation.
type Late interface {
	Add(userIDs []int64)
}

// Observer counts computed rows for metrics.
type Observer interface {
	// Recomputed counts rows: written ones, ones equal to the stored row, and ones with a list at its limit.
	Recomputed(written, equal, capped int)
	// Early counts patients recomputed again because an event arrived before its row was readable.
	Early(patients int)
	// Late counts patients that were passed to Late.
	Late(patients int)
}

// Config holds the limits of one call.
type Config struct {
	MaxTargets int           // patients per transaction
	Patience   time.Duration // maximum total time that a call waits for rows that are not readable yet
}

// DefaultConfig returns the values for production. The transactions are large enough to amortize disk writes, but do
// not hold locks for long. The wait covers a commit that is being written to disk, but no more: a row that was deleted
// meanwhile looks the same and must not delay its partition.
func DefaultConfig() Config { return Config{MaxTargets: 500, Patience: 300 * time.Millisecond} }

const (
	firstWait = 20 * time.Millisecond
	maxWait   = 5 * time.Second
)

// Deps are the dependencies of a Recomputer.
type Deps struct {
	Store    Store
	Late     Late
	Observer Observer
	Config   Config
}

// Recomputer recomputes the rows of patients. It is safe for concurrent use.
type Recomputer struct{ d Deps }

// NewRecomputer returns a Recomputer. All fields of d are required.
func NewRecomputer(d Deps) *Recomputer { return &Recomputer{d} }

// Recompute makes the rows of targets equal to their sources. targets may be in any order and contain duplicates. The
// patients in Summary.Early were passed to Late. After an error, which is an *outcome.Fault, the call can be repeated.
func (r *Recomputer) Recompute(ctx context.Context, targets []Target) (Summary, error) {
	total, err := r.chunks(ctx, merge(targets))
	if err != nil {
		return Summary{}, err
	}
	early, err := r.again(ctx, &total)
	if err != nil {
		return Summary{}, err
	}
	total.Early = early
	if len(early) > 0 {
		r.d.Late.Add(userIDs(early))
		r.d.Observer.Late(len(early))
	}
	r.d.Observer.Recomputed(total.Written, total.Equal, total.Capped)
	return total, nil
}

// again recomputes targets whose source rows were not readable yet, with growing pauses. It returns those whose rows
// are still not readable.
func (r *Recomputer) again(ctx context.Context, total *Summary) ([]Target, error) {
	early, left := total.Early, r.d.Config.Patience
	if len(early) > 0 {
		r.d.Observer.Early(len(early))
	}
	for wait := firstWait; len(early) > 0 && wait <= left; wait = min(2*wait, maxWait) {
		left -= wait
		if err := lifecycle.Pause(ctx, wait); err != nil {
			return nil, err
		}
		next, err := r.chunks(ctx, early)
		if err != nil {
			return nil, err
		}
		early, next.Early = next.Early, nil
		next.Equal = 0 // already counted in the first attempt
		total.add(next)
	}
	return early, nil
}

func (r *Recomputer) chunks(ctx context.Context, targets []Target) (Summary, error) {
	var total Summary
	for chunk := range slices.Chunk(targets, r.d.Config.MaxTargets) {
		s, err := r.bisect(ctx, chunk)
		if err != nil {
			return Summary{}, err
		}
		total.add(s)
	}
	return total, nil
}

// bisect splits targets until only the rows rejected by the database fail, so that the others are written.
func (r *Recomputer) bisect(ctx context.Context, targets []Target) (Summary, error) {
	s, err := r.d.Store.Recompute(ctx, targets)
	var poison *Poison
	if err == nil || !errors.As(err, &poison) {
		return s, err
	}
	if len(targets) == 1 {
		return Summary{Poison: map[int64]*Poison{targets[0].UserID: poison}}, nil
	}
	var total Summary
	for half := range slices.Chunk(targets, (len(targets)+1)/2) {
		s, err := r.bisect(ctx, half)
		if err != nil {
			return Summary{}, err
		}
		total.add(s)
	}
	return total, nil
}

func userIDs(targets []Target) []int64 {
	ids := make([]int64, len(targets))
	for i, t := range targets {
		ids[i] = t.UserID
	}
	return ids
}
