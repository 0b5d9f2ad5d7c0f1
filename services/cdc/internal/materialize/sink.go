package materialize

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Users recomputes rows of user_meta.
type Users interface {
	Recompute(ctx context.Context, targets []Target) (Summary, error)
}

// Tables records durably that a source table was truncated, because a truncation has no event per row.
type Tables interface {
	Truncated(ctx context.Context, table string) error
}

// Sink applies changes of the three source tables to user_meta.
type Sink struct {
	users  Users
	tables Tables
	clock  clock.Clock
}

// NewSink returns a Sink that recomputes patients with users and reports truncations to tables.
func NewSink(users Users, tables Tables, clk clock.Clock) *Sink {
	return &Sink{users: users, tables: tables, clock: clk}
}

// Apply applies a batch of records, in their order, and returns one result per record. A record is coalesced if later
// ones of the batch name all of its patients. It is dead if it cannot be decoded, or if it is the last one that names a
// patient whose row the database rejects. The error is an *outcome.Fault: nothing may be marked, and the caller may
// repeat the whole batch.
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

// freshness is how long after its commit an event may arrive before its row is readable. Older events come from a
// backlog or a replay: if their rows are missing, they were deleted since, and waiting would not help.
const freshness = time.Minute
