package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func TestEveryAcceptedJobIsThereAfterRedisWasKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Addr, 0, engine.DefaultSettings())
	accepted := enqueueUntilItFails(t, q, 2000, server.Kill)
	server.Restart()
	await.Nil(t, "the connection", func() error { // the pool checks once a second
		_, err := q.Info(t.Context(), accepted[:1])
		return err
	})
	if err := findAll(t.Context(), q, accepted); err != nil {
		t.Fatal(err)
	}
}

// someJobs returns a batch of twenty jobs.
func someJobs() (engine.Batch, error) { return someJobsOn(0) }

func someJobsOn(shard int) (engine.Batch, error) {
	ids := job.NewGenerator(clock.System{})
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range 20 {
		id := ids.Next(shard, job.Lane{Channel: job.Webhook, Priority: job.Low})
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: []byte("body")})
	}
	batch.IdempotencyKey = string(batch.Jobs[0].ID)
	return batch, nil
}

func enqueueSome(ctx context.Context, q *engine.Redis) ([]job.ID, error) {
	batch, err := someJobs()
	if err != nil {
		return nil, err
	}
	accepted, err := q.Enqueue(ctx, batch)
	return accepted.IDs, err
}

// enqueueUntilItFails enqueues from eight goroutines and calls breakIt after the given number of accepted jobs. It
// returns the jobs accepted until each goroutine got an error.
func enqueueUntilItFails(t *testing.T, q *engine.Redis, enough int, breakIt func()) []job.ID {
	t.Helper()
	var mu sync.Mutex // guards accepted
	var accepted []job.ID
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				ids, err := enqueueSome(ctx, q)
				cancel()
				if err != nil {
					return
				}
				mu.Lock()
				accepted = append(accepted, ids...)
				reached := len(accepted) == enough
				mu.Unlock()
				if reached {
					breakIt()
				}
			}
		})
	}
	all.Wait()
	return accepted
}

func TestWorkersDrainAtMaxmemoryWhileEnqueueIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Addr, 0, engine.DefaultSettings())
	if _, err := enqueueSome(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	client := server.Client()
	if err := client.ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := enqueueSome(t.Context(), q); !errors.Is(err, engine.ErrMemoryFull) {
		t.Fatalf("enqueue at maxmemory: %v", err)
	}
	c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 50, Turn: 1})
	if err != nil || len(c.Jobs) != 20 {
		t.Fatalf("claim at maxmemory: %d jobs, %v", len(c.Jobs), err)
	}
	var list []engine.Settlement
	for _, j := range c.Jobs {
		list = append(list, engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: []byte("r")})
	}
	if verdicts, err := q.Settle(t.Context(), 0, job.Webhook, list); err != nil || verdicts[0] != engine.VerdictDone {
		t.Errorf("settle at maxmemory: %v, %v", verdicts, err)
	}
	if err := client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := enqueueSome(t.Context(), q); err != nil {
		t.Errorf("enqueue after the memory was freed: %v", err)
	}
}
