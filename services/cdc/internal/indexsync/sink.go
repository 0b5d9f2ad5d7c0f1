package indexsync

import (
	"context"
	"errors"
	"fmt"

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
}

// NewSink returns a Sink.
func NewSink(d Deps) *Sink {
	return &Sink{d: d, maker: document.NewMaker(d.Versions), targets: &targets{lookup: d.Lookup, clock: d.Clock}}
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
	names, err := s.targets.get(ctx)
	if err != nil {
		return nil, outcome.FaultOf(err)
	}
	b := newBatch(records)
	if b.truncated {
		if err := s.d.Tables.Truncated(ctx, change.UserMeta); err != nil {
			return nil, outcome.FaultOf(err)
		}
	}
	ops := b.operations(s.maker)
	fates, err := s.write(ctx, names, ops)
	if err != nil {
		return nil, err
	}
	return b.finish(fates), nil
}

// write sends ops to all targets and returns their fates in the last one, where searches read. A document that only
// another target refuses is the rebuild's to find. A target that is gone was swapped or given up: the last one, which
// comes after it, is then the one that counts.
func (s *Sink) write(ctx context.Context, names []string, ops []document.Op) ([]Fate, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	for i, name := range names {
		fates, err := s.d.Writer.Write(ctx, name, ops)
		last := i == len(names)-1
		switch {
		case err == nil && last:
			return fates, nil
		case err == nil:
		case errors.Is(err, ErrGone) && !last:
			s.targets.forget()
		default:
			s.targets.forget()
			return nil, outcome.FaultOf(err)
		}
	}
	return nil, outcome.Retry(errors.New("there is no index to write to"))
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
