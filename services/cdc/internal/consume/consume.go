// Package consume owns the way of a record from a claimed partition to its sink and to its mark: batches, retries,
// pauses, dead letters and the rule of what may be committed.
//
// The rule: a record is marked only after its outcome is durable, in its sink or in the dead-letter queue, and after
// all records before it. One batch of a partition is under way at a time, so the mark is one number.
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

// Sink processes batches of one partition. Results are parallel to the records. An error means that nothing of the
// batch may be marked and that the same batch comes again: it must be safe to repeat.
type Sink interface {
	Apply(ctx context.Context, batch []change.Record) ([]outcome.Result, error)
}

// DeadLetters keeps what can never be processed. Send returns once the letter is durable.
type DeadLetters interface {
	Send(ctx context.Context, record change.Record, result outcome.Result, attempts int) error
}

// Observer hears what happens, for metrics. Tables are bounded: an unknown one is reported as "other".
type Observer interface {
	// Consumed counts records taken up, once each. They end in Finished, or in Returned when the claim ends before them.
	Consumed(table string, records int)
	Returned(table string, records int)
	Finished(ctx context.Context, table string, results []outcome.Result, took time.Duration)
	Failed(table string, records int)
	Retried(table string, records int)
	DeadLetterFailed()
}

// Traces begins the span of a batch; end takes whether the batch was finished. *batchtrace.Tracer implements it.
type Traces interface {
	Batch(ctx context.Context, batch []change.Record) (traced context.Context, end func(finished bool))
}

// Config bounds the work.
type Config struct {
	BatchRecords int           `env:"BATCH_RECORDS" envDefault:"500"`
	BatchBytes   int           `env:"BATCH_BYTES" envDefault:"2097152"`
	Linger       time.Duration `env:"BATCH_LINGER" envDefault:"5ms"`
	// ApplyTimeout bounds one try of a batch; well below the rebalance timeout, within which a revoked claim must end.
	ApplyTimeout time.Duration `env:"APPLY_TIMEOUT" envDefault:"20s"`
	FirstRetry   time.Duration `env:"FIRST_RETRY" envDefault:"100ms"`
	MaxRetry     time.Duration `env:"MAX_RETRY" envDefault:"10s"`
	// InFlightBytes bounds the records under way in the whole process.
	InFlightBytes int64 `env:"IN_FLIGHT_BYTES" envDefault:"67108864"`
	// DeadLetterPercent is the share of a table's last 1,000 records above which dead letters stop it; 100 never does.
	DeadLetterPercent int `env:"DEAD_LETTER_LIMIT_PERCENT" envDefault:"50"`
}

// Validate refuses bounds with which nothing would move.
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

// Deps is what a Consumer works with. Jitter returns a number from 0 to 1 (rand.Float64).
type Deps struct {
	Config      Config
	Sinks       map[string]Sink // by table; records of other tables are skipped
	DeadLetters DeadLetters
	Observer    Observer
	Traces      Traces // nil: none
	Clock       clock.Clock
	Jitter      func() float64
	Log         *slog.Logger
}

// Consumer carries records to their sinks.
type Consumer struct {
	d       Deps
	memory  *semaphore.Weighted
	status  *Status
	breaker *breaker
}

// untraced is the Traces of a consumer that has none.
type untraced struct{}

func (untraced) Batch(ctx context.Context, _ []change.Record) (context.Context, func(bool)) {
	return ctx, func(bool) {}
}

// New returns a consumer without any partition yet.
func New(d Deps) *Consumer {
	if d.Traces == nil {
		d.Traces = untraced{}
	}
	return &Consumer{d: d, memory: semaphore.NewWeighted(d.Config.InFlightBytes), status: newStatus(d.Clock),
		breaker: newBreaker(d.Config.DeadLetterPercent)}
}

// Status tells how the partitions are doing.
func (c *Consumer) Status() *Status { return c.status }

// table returns the record's table as metrics may name it.
func (c *Consumer) table(record change.Record) string {
	if _, known := c.d.Sinks[record.Table()]; known {
		return record.Table()
	}
	return "other"
}
