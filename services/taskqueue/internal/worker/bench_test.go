package worker_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// BenchmarkEndToEnd enqueues in batches of 250 and runs the jobs through a real fetcher with an empty handler,
// including result records. The append-only file is synced on every write.
func BenchmarkEndToEnd(b *testing.B) {
	for _, fsync := range []string{"everysec", "always"} {
		b.Run("appendfsync_"+fsync, func(b *testing.B) { endToEnd(b, fsync) })
	}
}

func endToEnd(b *testing.B, fsync string) {
	server := redistest.Start(b, "--appendfsync", fsync)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, PoolSize: 64})
	b.Cleanup(func() { _ = client.Close() })
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
	if err := q.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var handled atomic.Int64
	all := make(chan struct{})
	seen := &finished{want: int64(b.N), done: all, count: &handled}
	pool := worker.NewPool(1000)
	pumps := make([]*worker.Pump, job.Shards)
	for shard := range pumps {
		pumps[shard] = worker.New(worker.Config{Shard: shard, Channel: job.Webhook, Lease: q.Lease(), MaxRun: time.Minute, Grace: time.Second},
			worker.Deps{Queue: q, Pool: pool, Observer: seen, Clock: clock.System{}, IDs: job.NewGenerator(clock.System{}),
				Handler: handle(func(context.Context, worker.Delivery) (job.Result, error) { return job.Result{HTTPStatus: 200}, nil }),
				Roll:    func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler)})
	}
	b.ResetTimer()
	var group sync.WaitGroup
	for _, p := range pumps {
		group.Go(func() { _ = p.Run(ctx) })
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	for range 4 {
		group.Go(func() { feed(ctx, b, q, &left) })
	}
	<-all
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	cancel()
	group.Wait()
}

func feed(ctx context.Context, b *testing.B, q *engine.Redis, left *atomic.Int64) {
	ids := job.NewGenerator(clock.System{})
	body := (&job.Body{Task: 4, TaskType: 2, LabID: 12, Caller: "user:77", Retry: 3, CreatedMs: 1_790_000_000_000, Data: make([]byte, 200)}).Encode(nil)
	for shard := 0; ; shard = (shard + 1) % job.Shards {
		size := min(250, left.Add(-250)+250)
		if size <= 0 {
			return
		}
		batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
		for range size {
			id := ids.Next(shard, job.Lane{Channel: job.Webhook, Priority: job.Moderate})
			batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: body})
		}
		batch.IdempotencyKey = string(batch.Jobs[0].ID)
		if _, err := q.Enqueue(ctx, batch); err != nil {
			b.Error(err)
			return
		}
	}
}

type finished struct {
	count *atomic.Int64
	want  int64
	done  chan struct{}
}

func (f *finished) Claimed(job.Channel, int, time.Duration) {}
func (f *finished) LeaseLost(job.Channel)                   {}
func (f *finished) Callbacks(int, bool)                     {}
func (f *finished) Waited(job.Lane, time.Duration)          {}
func (f *finished) Attempt(job.Channel, string, time.Duration) {
	if f.count.Add(1) == f.want {
		close(f.done)
	}
}
