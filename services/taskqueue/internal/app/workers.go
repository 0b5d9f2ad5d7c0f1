package app

import (
	"context"
	random "math/rand/v2"
	"sync"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const (
	reapEvery    = time.Second
	tidyEvery    = 2 * time.Second
	holdsEvery   = time.Second
	clockEvery   = time.Second
	pausesEvery  = time.Second // maximum age of the pauses that a claim uses
	measureEvery = 5 * time.Second
	auditEvery   = 10 * time.Second
)

// work adds the parts that deliver jobs.
func (b *builder) work() {
	b.Every("bytes of laboratories", measureEvery, b.bytes.RunOnce)
	b.Every("lane gauges", measureEvery, func(ctx context.Context) error { return b.metrics.Measure(ctx, b.gate) })
	b.Every("destinations", holdsEvery, func(ctx context.Context) error {
		err := b.circuits.RunOnce(ctx)
		b.providers.Report()
		return err
	})
	if b.db != nil {
		b.watchDatabase()
	}
	j := b.janitor()
	b.Loop("reaper", j.Run)
	b.Every("janitor", tidyEvery, j.Tidy)
	b.Every("parked jobs", janitor.WakeEvery, j.Wake)
	auditor := &audit.Auditor{Queue: b.gate, Leads: j.Leads, Observer: b.metrics, Log: b.Log}
	b.Every("auditor", auditEvery, auditor.RunOnce)
	b.Loop("pumps", b.pumps)
}

func (b *builder) janitor() *janitor.Janitor {
	q := &b.cfg.Queue
	keep := time.Duration(q.DeadDays) * 24 * time.Hour
	cfg := janitor.Config{Every: reapEvery, KeepDead: keep, MaxDead: int64(q.DeadLimit), MaxDeadBytes: q.DeadBytes,
		Resend: q.DoubtfulSends == doubtResend}
	return janitor.New(cfg, janitor.Deps{Queue: b.gate, Archive: b.keeper, Weigher: b.bytes, Observer: b.metrics,
		Clock: b.Clock, RedisTime: b.redisTime, IDs: b.ids, Roll: random.Float64, Log: b.Log})
}

// pumps runs all pumps in one loop, so that their grace periods at shutdown overlap.
func (b *builder) pumps(ctx context.Context) error {
	var all sync.WaitGroup
	for channel, handler := range b.handlers {
		pool := worker.NewPool(b.places(channel))
		for shard := range job.Shards {
			p := b.pump(channel, shard, handler, pool)
			all.Go(func() { _ = p.Run(ctx) })
		}
	}
	all.Wait()
	return nil
}

// places returns how many jobs of a channel run in this process at the same time.
func (b *builder) places(channel job.Channel) int {
	switch channel {
	case job.Webhook:
		return b.cfg.Queue.WebhookWorkers
	case job.Callback:
		return b.cfg.Queue.CallbackWorkers
	}
	return b.cfg.Queue.MessageWorkers
}

func (b *builder) pump(channel job.Channel, shard int, handler worker.Handler, pool *worker.Pool) *worker.Pump {
	return worker.New(
		worker.Config{
			Shard:   shard,
			Channel: channel,
			Lease:   b.gate.Lease(),
			MaxRun:  job.LongestRun(channel),
			Grace:   time.Duration(b.cfg.Queue.GraceSeconds) * time.Second,
		},
		worker.Deps{Queue: operate.Pausing(b.gate, b.pauses), Pool: pool,
			Handler:  worker.Traced(operate.Waiting(handler, b.pauses), b.Tracers()),
			Observer: b.metrics, Clock: b.Clock, IDs: b.ids, Roll: random.Float64, Log: b.Log, Seals: b.seals,
			Bytes: b.bytes},
	)
}
