// Package inprocess runs the queue's engine and the workers of one channel inside another program, with that program's
// handler. Load generators use it to measure the engine without gRPC and HTTP.
package inprocess

import (
	"context"
	"fmt"
	"log/slog"
	random "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const (
	poolSize  = 64
	maxRun    = time.Minute
	grace     = time.Second
	reapEvery = time.Second
)

// Queue is an engine on one Redis node or on a cluster. It is safe for concurrent use.
type Queue struct {
	client redis.UniversalClient
	engine *engine.Redis
	ids    *job.Generator
	turn   atomic.Uint64 // rotates through the shards, one batch per shard
}

// Open connects to a Redis node, or to a cluster if there are several addresses, and loads the scripts. The caller
// closes the queue.
func Open(ctx context.Context, addresses ...string) (*Queue, error) {
	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addresses, MaxRetries: -1, PoolSize: poolSize})
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
	if err := q.Load(ctx); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return &Queue{client: client, engine: q, ids: job.NewGenerator(clock.System{})}, nil
}

func (q *Queue) Close() error { return q.client.Close() }

// laboratory is the laboratory of all jobs accepted by Enqueue.
const laboratory = 12

// Enqueue accepts a batch of at most 1,000 webhook jobs with the given payloads. dueMs has their times in epoch
// milliseconds; nil: all now. It returns when the batch is as durable as Redis is configured to be.
func (q *Queue) Enqueue(ctx context.Context, payloads [][]byte, dueMs []int64) error {
	return q.accept(ctx, job.Lane{Channel: job.Webhook, Priority: job.Moderate}, len(payloads),
		func(i int) (lab int64, due int64, payload []byte) {
			if dueMs != nil {
				due = dueMs[i]
			}
			return laboratory, due, payloads[i]
		})
}

// Tomorrow accepts one job due in a day for each of the given number of other laboratories, in the lane used by Enqueue
// or in every lane.
func (q *Queue) Tomorrow(ctx context.Context, laboratories int, everyLane bool) error {
	lanes := []job.Lane{{Channel: job.Webhook, Priority: job.Moderate}}
	if everyLane {
		lanes = job.Lanes()
	}
	due := clock.System{}.Now().Add(24 * time.Hour).UnixMilli()
	const most = 1000
	for _, lane := range lanes {
		for first := 0; first < laboratories; first += most {
			err := q.accept(ctx, lane, min(most, laboratories-first), func(i int) (int64, int64, []byte) {
				return int64(laboratory + 1 + first + i), due, nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Measure runs the measurement that a service makes every few seconds: depth and age of every lane on every shard.
func (q *Queue) Measure(ctx context.Context) error {
	_, err := engine.Total(ctx, q.engine)
	return err
}

// accept enqueues a batch of n jobs on the next shard.
func (q *Queue) accept(
	ctx context.Context, lane job.Lane, n int, of func(i int) (lab, dueMs int64, payload []byte),
) error {
	batch := engine.Batch{RequestHash: "h", KeepKey: 10 * time.Minute, OwnKey: true, Jobs: make([]engine.NewJob, n)}
	body := job.Body{Task: 4, TaskType: 2, Caller: "user:77", Retry: 3, CreatedMs: clock.System{}.Now().UnixMilli()}
	shard := int(q.turn.Add(1) % job.Shards)
	for i := range batch.Jobs {
		id := q.ids.Next(shard, lane)
		var due int64
		body.LabID, due, body.Data = of(i)
		body.Flow = job.LabFlow(body.LabID)
		batch.Jobs[i] = engine.NewJob{ID: id, DueMs: due, Flow: body.Flow, Body: body.Encode(nil)}
	}
	batch.IdempotencyKey = string(batch.Jobs[0].ID)
	_, err := q.engine.Enqueue(ctx, batch)
	return err
}

// Work claims and runs jobs with at most slots concurrent handlers until ctx ends, and writes their results.
func (q *Queue) Work(ctx context.Context, slots int, handle func(payload []byte) error) error {
	log := slog.New(slog.DiscardHandler)
	reap := janitor.New(janitor.Config{Every: reapEvery},
		janitor.Deps{Queue: q.engine, Observer: silent{}, Clock: clock.System{},
			RedisTime: clock.System{}, IDs: q.ids, Roll: random.Float64, Log: log})
	reaped := make(chan error, 1)
	go func() { reaped <- reap.Run(ctx) }()
	pool := worker.NewPool(slots)
	var pumps sync.WaitGroup
	for shard := range job.Shards {
		pump := worker.New(
			worker.Config{
				Shard:   shard,
				Channel: job.Webhook,
				Lease:   q.engine.Lease(),
				MaxRun:  maxRun,
				Grace:   grace,
			},
			worker.Deps{
				Queue:    q.engine,
				Pool:     pool,
				Handler:  handler(handle),
				Observer: silent{},
				Clock:    clock.System{},
				IDs:      q.ids,
				Roll:     random.Float64,
				Log:      log,
			},
		)
		pumps.Go(func() { _ = pump.Run(ctx) })
	}
	pumps.Wait()
	return <-reaped
}

type handler func(payload []byte) error

var _ worker.Handler = (*handler)(nil)

func (h handler) Handle(_ context.Context, d worker.Delivery) (job.Result, error) {
	if err := h(d.Body.Data); err != nil {
		return job.Result{}, job.Retryable("handler", "the handler failed").WithCause(err)
	}
	return job.Result{HTTPStatus: 200}, nil
}

// silent is an observer that ignores all events.
type silent struct{}

func (silent) Claimed(job.Channel, int, time.Duration)    {}
func (silent) Attempt(job.Channel, string, time.Duration) {}
func (silent) LeaseLost(job.Channel)                      {}
func (silent) Callbacks(int, bool)                        {}
func (silent) Waited(job.Lane, time.Duration)             {}
func (silent) Reaped(job.Channel, string)                 {}
