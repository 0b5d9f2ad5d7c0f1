// Package janitor does the maintenance of the queue: it reaps expired leases, archives finished jobs, trims dead
// letters that are too old or too many, releases parked jobs, and measures the bytes of waiting jobs. It may run in any
// number of processes: each shard has one leader at a time, and every write compares the state with what was read.
package janitor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Queue is the part of the engine used by the janitor.
type Queue interface {
	Lead(ctx context.Context, shard int, owner string, d time.Duration) (fence int64, err error)
	Expired(ctx context.Context, shard int, c job.Channel, most int) ([]engine.Expired, error)
	Reap(ctx context.Context, shard int, c job.Channel, fence int64, list []engine.Settlement) ([]engine.Verdict, error)
	Browse(ctx context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error)
	DeadParts(ctx context.Context, shard int) (map[job.Flow]engine.Part, error)
	TrimDead(ctx context.Context, shard int, list []engine.Member) (int64, error)
	Groups(ctx context.Context, shard int) ([]engine.Group, error)
	Unpark(ctx context.Context, shard int, g engine.Group, most int) (int, error)
	Holds(ctx context.Context) (engine.Holds, error)
	FreeHeld(ctx context.Context, to job.Destination) error
	Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error)
}

// Observer counts reaped leases by decision.
type Observer interface {
	Reaped(c job.Channel, decision string)
}

// Weigher publishes the bytes of waiting jobs to all processes.
type Weigher interface {
	Measure(ctx context.Context) error
}

// Config holds the interval and the limits of maintenance.
type Config struct {
	Every        time.Duration // time between two checks of the leases, jittered by ±25 %
	KeepDead     time.Duration
	MaxDead      int64 // maximum number of dead letters on all shards together
	MaxDeadBytes int64 // maximum bytes of dead letters on all shards together
	Resend       bool  // interrupted paid sends are repeated; false: their jobs end as unknown
}

// Deps are the dependencies of the janitor.
type Deps struct {
	Queue     Queue
	Archive   *Archive // nil: finished jobs are not archived
	Weigher   Weigher  // nil: waiting bytes are not measured
	Observer  Observer
	Clock     clock.Clock
	RedisTime clock.Clock // clock for times stored in jobs
	IDs       *job.Generator
	Roll      func() float64 // returns a random number in [0,1)
	Log       *slog.Logger
}

const (
	page = 250
	// lead is the duration of the leadership of a shard. It is much shorter than a job's lease, so that leases are reaped
	// in time if a janitor dies together with its workers.
	lead = 5 * time.Second
	// weighEvery is how often the bytes of waiting jobs and of dead letters are estimated.
	weighEvery = 5 * time.Second
)

// Janitor runs the maintenance in three loops (Run, Wake and Tidy), so that a slow database does not delay the reaping
// of leases.
type Janitor struct {
	Deps
	cfg     Config
	name    string // unique among the janitors of the queue
	leads   [job.Shards]atomic.Bool
	weighed time.Time
	dead    int64 // dead letters on all shards at the last estimate
	waker   waker
}

// New returns a janitor with a random name.
func New(cfg Config, deps Deps) *Janitor { return &Janitor{Deps: deps, cfg: cfg, name: rand.Text()} }

// Run reaps until ctx ends. The pauses are jittered, so that janitors of several processes do not check at the same
// time.
func (j *Janitor) Run(ctx context.Context) error {
	pause := func() time.Duration { return time.Duration(float64(j.cfg.Every) * (0.75 + 0.5*j.Roll())) }
	return lifecycle.Repeat(ctx, pause, j.Log, "reaper", j.Reap)
}

// Leads reports whether this janitor led a shard at its last check. If it has lost the leadership since, work is done
// at most twice, but never incorrectly.
func (j *Janitor) Leads(shard int) bool { return j.leads[shard].Load() }

// Reap ends all expired leases on the shards that this janitor leads.
func (j *Janitor) Reap(ctx context.Context) error {
	return eachShard(func(shard int) error {
		fence, err := j.lead(ctx, shard)
		if err != nil || fence == 0 {
			return err
		}
		for _, c := range job.Channels() {
			if err := j.reap(ctx, shard, c, fence); err != nil {
				return err
			}
		}
		return nil
	})
}

func (j *Janitor) lead(ctx context.Context, shard int) (fence int64, err error) {
	fence, err = j.Queue.Lead(ctx, shard, j.name, lead)
	j.leads[shard].Store(err == nil && fence != 0)
	return fence, err
}

// Tidy archives finished jobs and trims dead letters on the shards that this janitor leads. The leader of shard 0 also
// measures and trims all shards together.
func (j *Janitor) Tidy(ctx context.Context) error {
	var problems []error
	if j.Archive != nil {
		problems = append(problems, j.Archive.RunOnce(ctx, j.Leads))
	}
	problems = append(problems, eachShard(func(shard int) error {
		if !j.Leads(shard) {
			return nil
		}
		return j.trimOld(ctx, shard)
	}))
	if now := j.Clock.Now(); j.Leads(0) && now.Sub(j.weighed) >= weighEvery {
		j.weighed = now
		problems = append(problems, j.trimSurplus(ctx))
		if j.Weigher != nil {
			problems = append(problems, j.Weigher.Measure(ctx))
		}
	}
	return errors.Join(problems...)
}

// eachShard calls do for each shard in turn and joins the errors. An unresponsive shard delays the others by at most
// one call.
func eachShard(do func(shard int) error) error {
	var problems []error
	for shard := range job.Shards {
		if err := do(shard); err != nil {
			problems = append(problems, fmt.Errorf("shard %02d: %w", shard, err))
		}
	}
	return errors.Join(problems...)
}
