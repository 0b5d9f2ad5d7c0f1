package materialize

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Users computes rows of user_meta; *Recomputer implements it.
type Users interface {
	Recompute(ctx context.Context, targets []Target) (Summary, error)
}

// Tables takes note that a source table was emptied at once: no event names its rows. When it returns nil the note
// is durable.
type Tables interface {
	Truncated(ctx context.Context, table string) error
}

// Sink applies the changes of the three source tables to user_meta.
type Sink struct {
	users  Users
	tables Tables
	clock  clock.Clock
}

// NewSink returns a Sink.
func NewSink(users Users, tables Tables, clk clock.Clock) *Sink {
	return &Sink{users: users, tables: tables, clock: clk}
}

// Apply implements the consumer's sink for one batch of records in their order: one result per record. A record is
// coalesced when later ones of the batch name all of its patients. It is dead when it cannot be read, or when it is
// the last of the batch to name a patient whose row the database refuses. The error is an *outcome.Fault: nothing
// may be marked, and the whole batch may be repeated.
func (s *Sink) Apply(ctx context.Context, records []change.Record) ([]outcome.Result, error) {
	b := newBatch(records, s.clock.Now().Add(-freshness))
	summary := Summary{}
	if len(b.targets) > 0 {
		var err error
		if summary, err = s.users.Recompute(ctx, b.targets); err != nil {
			return nil, outcome.FaultOf(err)
		}
	}
	for table := range b.truncated {
		if err := s.tables.Truncated(ctx, table); err != nil {
			return nil, outcome.FaultOf(err)
		}
	}
	return b.results(summary), nil
}

// freshness is how long after its commit an event may be ahead of its row. Older events come from a backlog or a
// replay, where a missing row was deleted since: waiting for it would be without effect.
const freshness = time.Minute
