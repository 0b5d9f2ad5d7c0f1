package materialize

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Store computes rows of user_meta in one transaction.
type Store interface {
	// Recompute locks the rows of targets, which are distinct and in the order of their ids, reads the sources,
	// computes and writes. It may be repeated. The error is an *outcome.Fault or, when the database refuses a row
	// for its own sake, a *Poison; then nothing is written.
	Recompute(ctx context.Context, targets []Target) (Summary, error)
}

// Late accepts patients whose sources did not show what the events told within the time that a batch may wait.
// It recomputes them later, or leaves them to a comparison of everything.
type Late interface {
	Add(userIDs []int64)
}

// Observer counts.
type Observer interface {
	// Recomputed counts rows that were written, were equal already, and were capped.
	Recomputed(written, equal, capped int)
	// Early counts patients that had to be computed again because an event came before its row.
	Early(patients int)
	// Late counts patients that were handed over.
	Late(patients int)
}

// Config bounds the work of one call.
type Config struct {
	MaxTargets int           // patients in one transaction
	Patience   time.Duration // how long one call may wait for early events, over all
}

// DefaultConfig returns what production uses: transactions that amortise the disk without holding locks for long, and a
// wait that covers a commit on its way to the disk. Not more: a row that was deleted meanwhile looks early too, and
// must not hold up its partition.
func DefaultConfig() Config { return Config{MaxTargets: 500, Patience: 300 * time.Millisecond} }

const (
	firstWait = 20 * time.Millisecond
	maxWait   = 5 * time.Second
)

// Deps are what a Recomputer needs.
type Deps struct {
	Store    Store
	Late     Late
	Observer Observer
	Config   Config
}

// Recomputer computes the rows of patients again. It is safe for concurrent use.
type Recomputer struct{ d Deps }

// NewRecomputer returns a Recomputer.
func NewRecomputer(d Deps) *Recomputer { return &Recomputer{d} }

// Recompute makes the rows of targets, in any order and with repetitions, equal to their sources. Patients in
// Summary.Early were handed to Late. The error is an *outcome.Fault: call again with the same targets.
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

// again repeats the early ones, with growing pauses, and returns the ones that are still early.
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
		next.Equal = 0 // they were counted
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

// bisect finds the rows that the database refuses, so that the others are written.
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
