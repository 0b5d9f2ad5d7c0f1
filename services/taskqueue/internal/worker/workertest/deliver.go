// Package workertest runs jobs through a handler like the service, with a fetcher, its retries and its pauses, on the
// in-memory engine. It is for tests in virtual time.
package workertest

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// NewQueue returns an empty in-memory engine.
func NewQueue() *enginetest.Model { return enginetest.New(clock.System{}, engine.DefaultSettings()) }

// Deliver enqueues jobs of channel c, lets h deliver them for d, and returns the number of ended jobs by state and of
// claimed jobs; jobs that still wait are not among the ended. It sets the jobs' creation times.
func Deliver(
	t *testing.T, queue *enginetest.Model, h worker.Handler, c job.Channel, jobs []*job.Body, d time.Duration,
) (ended map[job.State]int, claims int) {
	t.Helper()
	return DeliverBy(t, queue, queue, h, c, jobs, d)
}

// DeliverBy is like Deliver, with claims through claimedBy, which wraps queue.
func DeliverBy(
	t *testing.T, queue *enginetest.Model, claimedBy worker.Queue, h worker.Handler, c job.Channel, jobs []*job.Body,
	d time.Duration,
) (ended map[job.State]int, claims int) {
	t.Helper()
	ids := job.NewGenerator(clock.System{})
	var all []job.ID
	for _, b := range jobs {
		id := ids.Next(0, job.Lane{Channel: c, Priority: job.Moderate})
		b.CreatedMs = clock.System{}.Now().UnixMilli()
		one := engine.NewJob{ID: id, Body: b.Encode(nil), Flow: b.Flow}
		batch := engine.Batch{IdempotencyKey: string(id), Jobs: []engine.NewJob{one}}
		if _, err := queue.Enqueue(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		all = append(all, id)
	}
	seen := &claimed{}
	ctx, stop := context.WithCancel(t.Context())
	pump := worker.New(
		worker.Config{Channel: c, Lease: 15 * time.Second, MaxRun: job.LongestRun(c), Grace: time.Second},
		worker.Deps{
			Queue:    claimedBy,
			Pool:     worker.NewPool(32),
			Handler:  h,
			Observer: seen,
			Clock:    clock.System{},
			IDs:      ids,
			Roll:     func() float64 { return 0.5 },
			Log:      slog.New(slog.DiscardHandler),
		},
	)
	var running sync.WaitGroup
	running.Go(func() { _ = pump.Run(ctx) })
	running.Go(func() { tidy(ctx, queue, ids) })
	<-time.After(d)
	stop()
	running.Wait()
	return states(t, queue, all), int(seen.jobs.Load())
}

// tidy ends expired leases and releases parked jobs.
func tidy(ctx context.Context, queue *enginetest.Model, ids *job.Generator) {
	j := janitor.New(janitor.Config{}, janitor.Deps{Queue: queue, Observer: &claimed{}, Clock: clock.System{},
		RedisTime: clock.System{}, IDs: ids, Log: slog.New(slog.DiscardHandler)})
	ticks := time.NewTicker(janitor.WakeEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			_ = j.Reap(ctx)
			_ = j.Wake(ctx)
		}
	}
}

func states(t *testing.T, queue *enginetest.Model, all []job.ID) map[job.State]int {
	t.Helper()
	snapshots, err := queue.Info(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	ended := map[job.State]int{}
	for _, s := range snapshots {
		if len(s.Record) == 0 {
			continue
		}
		r, err := job.DecodeRecord(s.Record)
		if err != nil {
			t.Fatal(err)
		}
		ended[r.State]++
	}
	return ended
}

type claimed struct{ jobs atomic.Int64 }

func (c *claimed) Claimed(_ job.Channel, jobs int, _ time.Duration) { c.jobs.Add(int64(jobs)) }
func (*claimed) Attempt(job.Channel, string, time.Duration)         {}
func (*claimed) LeaseLost(job.Channel)                              {}
func (*claimed) Waited(job.Lane, time.Duration)                     {}
func (*claimed) Callbacks(int, bool)                                {}
func (*claimed) Reaped(job.Channel, string)                         {}
