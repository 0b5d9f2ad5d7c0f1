package indexsync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
)

// Phases returns the current phase of the migration of user_meta.
type Phases interface {
	Phase(ctx context.Context) (phase.Phase, error)
}

// Tables records that user_meta was truncated, which has no event for each row. When it returns nil, that is recorded
// durably.
type Tables interface {
	Truncated(ctx context.Context, table string) error
}

// Deps are the services that a Sink uses.
type Deps struct {
	Lookup   Lookup
	Writer   *Writer
	Phases   Phases
	Tables   Tables
	Versions document.Versions // document.RevVersions{}; tests may use others
	Clock    clock.Clock
}

// Sink applies the changes of user_meta to the search index.
type Sink struct {
	d       Deps
	maker   *document.Maker
	targets *targets

	troubles *troubles // troubles of the index that a rebuild fills
}

// NewSink returns a Sink.
func NewSink(d Deps) *Sink {
	return &Sink{d: d, maker: document.NewMaker(d.Versions), targets: &targets{lookup: d.Lookup, clock: d.Clock},
		troubles: &troubles{clock: d.Clock, since: map[string]time.Time{}}}
}

// sinkName is the name of this sink in dead letters.
const sinkName = "index"

// Apply writes a batch of records, in their order, and returns one result per record. Of several records of one patient
// only the newest is written, on the routes of all of them; the others are coalesced. The error is an *outcome.Fault:
// nothing may be marked, and the whole batch may be repeated.
//
// The targets were read at most LookupEvery before this call, and so at most that long before any of its records was
// processed. Package rebuild relies on this.
func (s *Sink) Apply(ctx context.Context, records []change.Record) ([]outcome.Result, error) {
	now, err := s.d.Phases.Phase(ctx)
	if err != nil {
		return nil, outcome.FaultOf(err)
	}
	if now != phase.Running {
		return skipAll(records, "phase_"+string(now)), nil
	}
	b := newBatch(records)
	if b.truncated {
		if err := s.d.Tables.Truncated(ctx, change.UserMeta); err != nil {
			return nil, outcome.FaultOf(err)
		}
	}
	fates, err := s.write(ctx, b)
	if err != nil {
		return nil, outcome.FaultOf(err)
	}
	return b.finish(fates), nil
}

// maxLookups bounds how often one batch looks up its targets: a swap may be followed by the end of a rebuild.
const maxLookups = 3

// write writes the batch to all targets. When a target no longer exists, because it was swapped or given up, it looks
// all of them up again: another index, with another schema, may have replaced it. The error is a fault.
func (s *Sink) write(ctx context.Context, b *batch) (fates []Fate, err error) {
	for range maxLookups {
		targets, unknown := s.targets.get(ctx)
		if unknown != nil {
			return nil, unknown
		}
		if len(b.users) == 0 {
			return nil, nil
		}
		if fates, err = s.writeAll(ctx, targets, b); err == nil {
			return fates, nil
		}
		s.targets.forget()
		if !errors.Is(err, ErrGone) {
			break
		}
	}
	return nil, err
}

// writeAll writes the batch to each target in the target's schema, and returns the fates of the last one, which
// searches use. Errors of another target do not keep the changes from the last one: the rebuild detects documents that
// its index rejected, and an index that cannot be written is given up, so that it is never searched.
func (s *Sink) writeAll(ctx context.Context, targets []Target, b *batch) (fates []Fate, err error) {
	var open error // error that prevents the batch from being marked
	for i, target := range targets {
		fates, err = s.d.Writer.Write(ctx, target.Alias, b.operations(s.maker.Of(target.Schema)))
		switch {
		case err == nil:
			s.troubles.over(target.Index)
		case i == len(targets)-1 || errors.Is(err, ErrGone) || ctx.Err() != nil:
			return nil, err
		case errors.Is(err, ErrBusy) && s.troubles.last(target.Index) < givingUp:
			open = err
		default:
			s.targets.forget()
			if err := s.d.Lookup.GiveUpNext(ctx, target.Index); err != nil {
				return nil, err
			}
		}
	}
	return fates, open
}

// givingUp is how long the index that a rebuild fills may be overloaded, usually by the rebuild itself, before it is
// given up. Until then batches are repeated, while the live index has their changes already.
const givingUp = 3 * time.Minute

// troubles stores since when each index cannot be written. Safe for concurrent use.
type troubles struct {
	clock clock.Clock
	mu    sync.Mutex
	since map[string]time.Time // guarded by mu; by the index's name
}

func (t *troubles) over(index string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, index)
}

// last returns how long an index has not been written; 0 at the first call.
func (t *troubles) last(index string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin, known := t.since[index]
	if !known {
		t.since[index] = t.clock.Now()
		return 0
	}
	return t.clock.Now().Sub(begin)
}

func skipAll(records []change.Record, reason string) []outcome.Result {
	results := make([]outcome.Result, len(records))
	for i := range results {
		results[i] = outcome.Skip(reason)
	}
	return results
}

// refused returns the result of a document that the index rejects.
func refused(fate Fate) outcome.Result {
	return outcome.Died(sinkName, fate.Kind, fmt.Errorf("the index refuses the document: %s", fate.Kind))
}
