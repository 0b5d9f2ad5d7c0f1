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

// Phases tells where the migration of user_meta stands.
type Phases interface {
	Phase(ctx context.Context) (phase.Phase, error)
}

// Tables takes note that user_meta was emptied at once: no event names its rows. When it returns nil the note is
// durable.
type Tables interface {
	Truncated(ctx context.Context, table string) error
}

// Deps are what a Sink works with.
type Deps struct {
	Lookup   Lookup
	Writer   *Writer
	Phases   Phases
	Tables   Tables
	Versions document.Versions // document.RevVersions{} everywhere but in tests
	Clock    clock.Clock
}

// Sink applies the changes of user_meta to the search index.
type Sink struct {
	d       Deps
	maker   *document.Maker
	targets *targets

	troubles *troubles // of the index that a rebuild fills
}

// NewSink returns a Sink.
func NewSink(d Deps) *Sink {
	return &Sink{d: d, maker: document.NewMaker(d.Versions), targets: &targets{lookup: d.Lookup, clock: d.Clock},
		troubles: &troubles{clock: d.Clock, since: map[string]time.Time{}}}
}

// sinkName is what dead letters call this sink.
const sinkName = "index"

// Apply implements the consumer's sink for one batch of records in their order: one result per record. Of several
// records of one patient only the newest is written, on behalf of all their routes; the others are coalesced. The
// error is an *outcome.Fault: nothing may be marked, and the whole batch may be repeated.
//
// The targets are as of at most LookupEvery before this call, and thus younger than that as seen from any of its
// records: see rebuild.
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

// maxLookups is how often one batch looks where to write: a swap and a rebuild that is given up may follow each other.
const maxLookups = 3

// write brings the targets up to the batch. A missing one was swapped or given up: then all are looked up again, for
// another index may have taken its place, of another schema. The error is a fault.
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

// writeAll writes each target in its own schema, and returns the fates in the last one, where searches read. What
// another target does not take never keeps that one from its changes: a document that it refuses is the rebuild's to
// find, and one that cannot be written is given up, so that it is never searched without them.
func (s *Sink) writeAll(ctx context.Context, targets []Target, b *batch) (fates []Fate, err error) {
	var open error // what keeps the batch from being marked
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
// given up. Until then the batches come again, and searches have what they hold.
const givingUp = 3 * time.Minute

// troubles knows since when indexes are not written. Safe for concurrent use.
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

// last returns how long a trouble that is there now has lasted.
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

// refused is what a dead letter says of a document that the index does not accept.
func refused(fate Fate) outcome.Result {
	return outcome.Died(sinkName, fate.Kind, fmt.Errorf("the index refuses the document: %s", fate.Kind))
}
