// Package consume passes records of claimed partitions to their sinks, in batches, with retries, pauses and dead
// letters.
//
// A record is marked for commit only after its outcome is durable, in its sink or in the dead-letter topic, and after
// all records before it. Each partition has one batch in progress at a time, so the mark is a single offset.
package consume

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Sink processes batches of one partition. results[i] belongs to records[i]. After an error, nothing of the batch is
// marked and the same batch is applied again, so Apply must be idempotent.
type Sink interface {
	Apply(ctx context.Context, batch []change.Record) ([]outcome.Result, error)
}

// DeadLetters stores records that cannot be processed. Send returns after the letter is durable.
type DeadLetters interface {
	Send(ctx context.Context, record change.Record, result outcome.Result, attempts int) error
}

// Observer receives events for metrics. Unknown tables are reported as "other", to limit the number of series.
type Observer interface {
	// Consumed counts records, each once, when their processing starts. Finished follows, or Returned if the claim ends
	// first.
	Consumed(table string, records int)
	Returned(table string, records int)
	Finished(ctx context.Context, table string, results []outcome.Result, took time.Duration)
	Failed(table string, records int)
	Retried(table string, records int)
	DeadLetterFailed()
}

// Traces starts the span of a batch. end finishes it and records whether the batch was finished.
type Traces interface {
	Batch(ctx context.Context, batch []change.Record) (traced context.Context, end func(finished bool))
}

// Config holds the limits of batches, retries and memory.
type Config struct {
	BatchRecords int           `env:"BATCH_RECORDS" envDefault:"500"`
	BatchBytes   int           `env:"BATCH_BYTES" envDefault:"2097152"`
	Linger       time.Duration `env:"BATCH_LINGER" envDefault:"5ms"`
	// ApplyTimeout limits one attempt of a batch. It is well below the rebalance timeout, within which a revoked claim
	// must end.
	ApplyTimeout time.Duration `env:"APPLY_TIMEOUT" envDefault:"20s"`
	FirstRetry   time.Duration `env:"FIRST_RETRY" envDefault:"100ms"`
	MaxRetry     time.Duration `env:"MAX_RETRY" envDefault:"10s"`
	// InFlightBytes limits the records in progress in the whole process.
	InFlightBytes int64 `env:"IN_FLIGHT_BYTES" envDefault:"67108864"`
	// DeadLetterPercent is the percentage of dead letters among a table's last 1,000 records above which the table is
	// stopped; 100: never.
	DeadLetterPercent int `env:"DEAD_LETTER_LIMIT_PERCENT" envDefault:"50"`
}

// Validate rejects limits with which records could not be processed.
func (c *Config) Validate() error {
	if c.BatchRecords < 1 || c.BatchBytes < 1 || c.Linger < 0 || c.ApplyTimeout <= 0 || c.FirstRetry <= 0 ||
		c.MaxRetry < c.FirstRetry ||
		c.InFlightBytes < 1 {
		return errors.New(
			"BATCH_RECORDS, BATCH_BYTES, APPLY_TIMEOUT, FIRST_RETRY and IN_FLIGHT_BYTES must be above zero, and MAX_RETRY at least FIRST_RETRY")
	}
	if c.DeadLetterPercent < 0 || c.DeadLetterPercent > 100 {
		return errors.New("DEAD_LETTER_LIMIT_PERCENT must be 0 to 100; 100 switches the limit off")
	}
	return nil
}

// Deps are the dependencies of a Consumer. Jitter returns a random number from 0 to 1 (rand.Float64).
type Deps struct {
	Config      Config
	Sinks       map[string]Sink // by table; records of other tables are skipped
	DeadLetters DeadLetters
	Observer    Observer
	Traces      Traces // nil: no traces
	Clock       clock.Clock
	Jitter      func() float64
	Log         *slog.Logger
}

// Consumer passes the records of all claims to their sinks.
type Consumer struct {
	d       Deps
	memory  *semaphore.Weighted
	status  *Status
	breaker *breaker
}

// untraced replaces a nil Deps.Traces.
type untraced struct{}

func (untraced) Batch(ctx context.Context, _ []change.Record) (context.Context, func(bool)) {
	return ctx, func(bool) {}
}

// New returns a consumer without partitions. Run adds a partition.
func New(d Deps) *Consumer {
	if d.Traces == nil {
		d.Traces = untraced{}
	}
	return &Consumer{d: d, memory: semaphore.NewWeighted(d.Config.InFlightBytes), status: newStatus(d.Clock),
		breaker: newBreaker(d.Config.DeadLetterPercent)}
}

// Status returns the state of the claimed partitions.
func (c *Consumer) Status() *Status { return c.status }

// table returns the record's table for metrics, or "other" if it is unknown.
func (c *Consumer) table(record change.Record) string {
	if _, known := c.d.Sinks[record.Table()]; known {
		return record.Table()
	}
	return "other"
}
