package engine_test

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const benchBatch = 250

// BenchmarkEnqueueClaimSettle measures the engine's work for a job: accepted in batches, claimed with its body, settled
// with a result record. It reports jobs per second and Redis CPU time per job.
func BenchmarkEnqueueClaimSettle(b *testing.B) {
	for _, fsync := range []string{"no", "everysec", "always"} {
		b.Run("appendfsync_"+fsync, func(b *testing.B) { lives(b, fsync, 0) })
	}
}

// BenchmarkBesideLaboratoriesOfTomorrow is BenchmarkEnqueueClaimSettle while many laboratories have a job due tomorrow.
func BenchmarkBesideLaboratoriesOfTomorrow(b *testing.B) {
	for _, labs := range []int{0, 200, 2000} {
		b.Run(strconv.Itoa(labs), func(b *testing.B) { lives(b, "no", labs) })
	}
}

func lives(b *testing.B, fsync string, labs int) {
	server := redistest.Start(b, "--appendfsync", fsync)
	q := open(b, server.Addr, 0, engine.DefaultSettings())
	if err := q.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	waiting(b, q, labs, clock.System{}.Now().Add(24*time.Hour))
	before := redisCPU(b, server.Client())
	b.ResetTimer()
	runJobs(b, q, b.N)
	b.StopTimer()
	used := redisCPU(b, server.Client()) - before
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(used*1e6/float64(b.N), "redis-µs/job")
}

func runJobs(b *testing.B, q *engine.Redis, n int) {
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	var left, done atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { produce(ctx, b, q, &left) })
		group.Go(func() { consume(ctx, b, q, &done, int64(n)) })
	}
	group.Wait()
}

func produce(ctx context.Context, b *testing.B, q *engine.Redis, left *atomic.Int64) {
	ids := job.NewGenerator(clock.System{})
	body := (&job.Body{Task: 4, TaskType: 2, LabID: 12, Caller: "user:77", Retry: 3, CreatedMs: 1_790_000_000_000,
		Data: make([]byte, 200)}).Encode(nil)
	for {
		size := min(benchBatch, left.Add(-benchBatch)+benchBatch)
		if size <= 0 {
			return
		}
		batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute, OwnKey: true, Jobs: make([]engine.NewJob, 0, size)}
		for range size {
			id := ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Moderate})
			batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: body})
		}
		batch.IdempotencyKey = string(batch.Jobs[0].ID)
		if _, err := q.Enqueue(ctx, batch); err != nil {
			b.Error(err)
			return
		}
	}
}

func consume(ctx context.Context, b *testing.B, q *engine.Redis, done *atomic.Int64, n int64) {
	for turn := 0; done.Load() < n && ctx.Err() == nil; turn++ {
		c, err := q.Claim(ctx, engine.ClaimRequest{Channel: job.Webhook, Max: benchBatch, Turn: turn})
		if err == nil {
			err = q.ReadBodies(ctx, c.Jobs)
		}
		if err != nil {
			b.Error(err)
			return
		}
		list := make([]engine.Settlement, 0, len(c.Jobs))
		for _, j := range c.Jobs {
			body, err := job.DecodeBody(j.Raw)
			if err != nil {
				b.Error(err)
				return
			}
			record := job.RecordOf(body, job.Finished, c.NowMs)
			list = append(list, engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: record.Encode(nil)})
		}
		if len(list) == 0 {
			if err := q.WaitBell(ctx, 0, job.Webhook, 5*time.Millisecond); err != nil {
				return
			}
			continue
		}
		if _, err := q.Settle(ctx, 0, job.Webhook, list); err != nil {
			b.Error(err)
			return
		}
		done.Add(int64(len(list)))
	}
}

var cpuLine = regexp.MustCompile(`used_cpu_(?:user|sys):([0-9.]+)`)

func redisCPU(b *testing.B, client *redis.Client) float64 {
	info, err := client.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	total := 0.0
	for _, found := range cpuLine.FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return total
}
