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

// Tables records durably that user_meta was truncated, because a truncation has no event per row.
type Tables interface {
	Truncated(ctx context.Context, table string) error
}

// Deps are the dependencies of a Sink.
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

	troubles *troubles // failures of the index that a rebuild fills
}

// NewSink returns a Sink with the dependencies d.
func NewSink(d Deps) *Sink {
	return &Sink{d: d, maker: document.NewMaker(d.Versions), targets: &targets{lookup: d.Lookup, clock: d.Clock},
		troubles: &troubles{clock: d.Clock, since: map[string]time.Time{}}}
}

// sinkName is the name of this sink in dead letters.
const sinkName = "index"

// Apply writes a batch of records, in their order, and returns one result per record. If a patient has several records,
// only the newest is written, under the laboratories (routing keys) of all of them; the others are coalesced. The error
// is an *outcome.Fault: no offset of the batch may be committed, and the caller may repeat the whole batch.
//
// The indexes to write to were looked up at most LookupEvery before this call, and so at most that long before any of
// its records was processed. Package rebuild relies on this.
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

// maxLookups limits the lookups of targets per batch: a swap may be followed by the end of a rebuild.
const maxLookups = 3

// write writes the batch to all targets. If a target no longer exists, because it was swapped or given up, all
// targets are looked up again: an index with another schema may have replaced it. The error is a fault.
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

// writeAll writes the batch to each target in the target's schema, and returns the fates of the last one, which is used
// by searches. If another target fails, the last one is still written: the rebuild detects documents that its index
// rejected, and an index that cannot be written is given up and never searched.
func (s *Sink) writeAll(ctx context.Context, targets []Target, b *batch) (fates []Fate, err error) {
	var open error // error because of which the batch must not be marked
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

// givingUp is how long the index being rebuilt may be overloaded, usually by the rebuild itself, before it is given up.
// Until then batches are repeated; the live index already has their changes.
const givingUp = 3 * time.Minute

// troubles stores since when each index could not be written. It is safe for concurrent use.
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

// last returns for how long an index could not be written; 0 on the first call.
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

// refused returns the result for a document rejected by the index.
func refused(fate Fate) outcome.Result {
	return outcome.Died(sinkName, fate.Kind, fmt.Errorf("the index refuses the document: %s", fate.Kind))
}
