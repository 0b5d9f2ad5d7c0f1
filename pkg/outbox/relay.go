package outbox

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Deliver hands one row to its receiver. nil removes the row; an error marked with Undeliverable parks it; any
// other error is tried again later. It is called again for the same row after a crash, so the receiver must
// tell repetitions by Row.Key. Error texts are stored in the row: they hold nothing about patients.
type Deliver func(ctx context.Context, row Row) error

// Undeliverable marks err as final: another try cannot succeed.
func Undeliverable(err error) error { return &undeliverable{err} }

// IsUndeliverable reports whether err was marked with Undeliverable.
func IsUndeliverable(err error) bool {
	var final *undeliverable
	return errors.As(err, &final)
}

type undeliverable struct{ error }

func (u *undeliverable) Unwrap() error { return u.error }

// Config holds the pace of a relay.
type Config struct {
	PollInterval    time.Duration `env:"POLL_INTERVAL" envDefault:"500ms"`
	FirstRetryDelay time.Duration `env:"FIRST_RETRY_DELAY" envDefault:"1s"`
	MaxRetryDelay   time.Duration `env:"MAX_RETRY_DELAY" envDefault:"5m"`
	DeliverTimeout  time.Duration `env:"DELIVER_TIMEOUT" envDefault:"10s"`
	BatchSize       int           `env:"BATCH_SIZE" envDefault:"100"`
}

// Validate refuses settings with which nothing would ever be delivered.
func (c *Config) Validate() error {
	if c.PollInterval <= 0 || c.FirstRetryDelay <= 0 || c.DeliverTimeout <= 0 || c.BatchSize <= 0 || c.MaxRetryDelay < c.FirstRetryDelay {
		return errors.New("outbox delays and BATCH_SIZE must be above zero and MAX_RETRY_DELAY at least FIRST_RETRY_DELAY")
	}
	return nil
}

// Deps is what a relay works with. Jitter returns a number from 0 to 1 (rand.Float64).
type Deps struct {
	Config  Config
	DB      *sql.DB
	Table   Table
	Deliver Deliver
	Clock   clock.Clock
	Jitter  func() float64
	Log     *slog.Logger
	Metrics *Metrics
}

// Relay delivers the rows of one table.
type Relay struct {
	d    Deps
	wake chan struct{}
}

// NewRelay returns a relay that does nothing until RunOnce or Run.
func NewRelay(d Deps) *Relay { return &Relay{d: d, wake: make(chan struct{}, 1)} }

// Wake makes Run look at once, for callers that have just committed an Insert. It never blocks.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends. Errors are logged and counted; they never end the loop.
func (r *Relay) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-r.wake:
		}
		n, err := r.RunOnce(ctx)
		err = errors.Join(err, r.observe(ctx))
		if err != nil && ctx.Err() == nil {
			r.d.Log.Error("outbox relay", "table", r.d.Table.name, "error", err)
		}
		timer.Reset(r.pause(n, err))
	}
}

// pause is how long Run waits after a batch of n: a full one has successors, and a database that is away is not
// asked (and logged) several times a second.
func (r *Relay) pause(n int, err error) time.Duration {
	const afterError = 5 * time.Second
	switch {
	case err != nil:
		return max(afterError, r.d.Config.PollInterval)
	case n == r.d.Config.BatchSize:
		return 0
	default:
		return r.d.Config.PollInterval
	}
}

// RunOnce delivers one batch of due rows if this process can be the leader, and returns how many it took up.
// Rows that fail are postponed and are no error here. A leader that dies is replaced.
func (r *Relay) RunOnce(ctx context.Context) (taken int, err error) {
	_, err = mysqldb.Lead(ctx, r.d.DB, "relay_"+r.d.Table.name, func(ctx context.Context, conn *sql.Conn) error {
		rows, err := r.d.Table.due(ctx, conn, r.d.Clock.Now(), r.d.Config.BatchSize)
		taken = len(rows)
		if err != nil {
			return err
		}
		return r.deliverAll(ctx, conn, rows)
	})
	return taken, err //nolint:wrapcheck // says who wanted to lead
}

func (r *Relay) deliverAll(ctx context.Context, conn *sql.Conn, rows []Row) error {
	stuck := map[string]bool{} // aggregates that have a failed row in this batch
	for _, row := range rows {
		if stuck[row.Aggregate] {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		failed, err := r.deliver(ctx, conn, row)
		if err != nil {
			return err
		}
		stuck[row.Aggregate] = failed
	}
	return nil
}

// deliver tries one row and records the outcome. failed tells that it stays and is due again later.
func (r *Relay) deliver(ctx context.Context, conn *sql.Conn, row Row) (failed bool, err error) {
	tried, cancel := context.WithTimeout(ctx, r.d.Config.DeliverTimeout)
	reason := r.d.Deliver(tried, row)
	cancel()
	if stopping := ctx.Err() != nil; stopping && reason != nil {
		return true, nil //nolint:nilerr // the next leader tries the row again; it loses no attempt
	}
	// The outcome is written even when the process is stopping: else the receiver would see the row again.
	ctx = context.WithoutCancel(ctx)
	switch {
	case reason == nil:
		r.d.Metrics.delivered.Inc()
		return false, r.d.Table.remove(ctx, conn, row.ID)
	case IsUndeliverable(reason):
		r.d.Metrics.undeliverable.Inc()
		r.d.Log.Error("outbox row parked", "table", r.d.Table.name, "id", row.ID, "kind", row.Kind, "error", reason)
		return false, r.d.Table.park(ctx, conn, row.ID, reason.Error())
	default:
		r.d.Metrics.failed.Inc()
		r.d.Log.Warn("outbox row postponed", "table", r.d.Table.name, "id", row.ID, "kind", row.Kind, "attempts", row.Attempts+1, "error", reason)
		at := r.d.Clock.Now().Add(r.delay(row.Attempts)).UnixMilli()
		return true, r.d.Table.postpone(ctx, conn, row.ID, at, reason.Error())
	}
}

// delay doubles with each attempt up to the maximum, ±20 %.
func (r *Relay) delay(attempts int) time.Duration {
	const mostDoublings = 20
	d := r.d.Config.FirstRetryDelay << min(attempts, mostDoublings)
	d = min(d, r.d.Config.MaxRetryDelay)
	return time.Duration(float64(d) * (0.8 + 0.4*r.d.Jitter()))
}

func (r *Relay) observe(ctx context.Context) error {
	now := r.d.Clock.Now()
	if !r.d.Metrics.stale(now) {
		return nil
	}
	b, err := r.d.Table.backlog(ctx, r.d.DB)
	if err != nil {
		return err
	}
	r.d.Metrics.show(b, now)
	return nil
}
