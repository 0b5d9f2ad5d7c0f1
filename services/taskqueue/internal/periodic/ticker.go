package periodic

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
)

// Observer counts ticks.
type Observer interface {
	Ticked(outcome string)
}

// What becomes of a tick.
const (
	ran     = "ran"
	skipped = "skipped"
)

// Outcomes lists them.
func Outcomes() []string { return []string{ran, skipped} }

// Queue is the part of the engine that a ticker needs.
type Queue interface {
	Store
	Lead(ctx context.Context, shard int, w engine.Work, owner string, d time.Duration) (int64, error)
}

// lead is how long another process waits before it takes over; the policy for missed ticks begins later.
const lead = 10 * time.Second

// TickerDeps are what a ticker works with.
type TickerDeps struct {
	Queue    Queue
	IDs      *job.Generator
	Clock    clock.Clock
	Observer Observer
	Seals    *seal.Ring // nil: payloads are stored as they are
}

// Ticker gives birth to the jobs of ticks. RunOnce is for one loop at a time; of all processes one works at a time.
type Ticker struct {
	TickerDeps
	name string // among all tickers of the queue
}

// NewTicker makes a ticker.
func NewTicker(deps TickerDeps) *Ticker { return &Ticker{TickerDeps: deps, name: rand.Text()} }

// RunOnce looks at every definition. One that cannot be read keeps no other one waiting.
func (t *Ticker) RunOnce(ctx context.Context) error {
	if fence, err := t.Queue.Lead(ctx, 0, engine.Ticking, t.name, lead); err != nil || fence == 0 {
		return err
	}
	all, err := t.Queue.Periodic(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for k, raw := range all {
		if err := t.tick(ctx, k, raw); err != nil {
			problems = append(problems, fmt.Errorf("periodic job %s: %w", k, err))
		}
	}
	return errors.Join(problems...)
}

func (t *Ticker) tick(ctx context.Context, k string, raw []byte) error {
	d, err := decode(raw)
	if err != nil {
		return err
	}
	now := t.Clock.Now()
	if d.NextMs == 0 || now.UnixMilli() < d.NextMs {
		return nil
	}
	at, next, err := d.due(now)
	if err != nil {
		return err
	}
	d.NextMs = millis(next)
	change, outcome := engine.Tick{Key: k, Observed: raw}, skipped
	if d.runs(at, now) {
		if change.Job, err = t.job(d, at); err != nil {
			return err
		}
		d.LastMs, d.LastJob = at.UnixMilli(), change.Job.ID
		outcome = ran
	}
	if change.Definition, err = d.encode(); err != nil {
		return err
	}
	done, err := t.Queue.Tick(ctx, change)
	if done {
		t.Observer.Ticked(outcome)
	}
	return err
}

// job is the job of a tick. Its payload is sealed anew, so that keys can be rotated away.
func (t *Ticker) job(d *Definition, at time.Time) (*engine.NewJob, error) {
	body, err := job.DecodeBody(d.Body)
	if err != nil {
		return nil, fmt.Errorf("read the task: %w", err)
	}
	if err := t.Seals.Open(body); err != nil {
		return nil, fmt.Errorf("open the task: %w", err)
	}
	t.Seals.Seal(body, d.Lane.Channel)
	d.Body = body.Encode(nil)
	body.CreatedMs = t.Clock.Now().UnixMilli()
	body.ScheduledMs = at.UnixMilli()
	if body.ExpiresMs > 0 {
		body.ExpiresMs += body.CreatedMs
	}
	id, err := t.IDs.Next(0, d.Lane)
	if err != nil {
		return nil, fmt.Errorf("make a job id: %w", err)
	}
	return &engine.NewJob{ID: id, DueMs: at.UnixMilli(), Flow: body.Flow, Body: body.Encode(nil)}, nil
}

var errChanging = errors.New("the definition changes all the time")

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithCause(err)
}
