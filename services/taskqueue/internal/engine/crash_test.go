package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func TestEveryAcceptedJobIsThereAfterRedisWasKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Addr, 0, engine.DefaultSettings())
	var mu sync.Mutex
	var accepted []job.ID
	var stop atomic.Bool
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for !stop.Load() {
				ids, err := enqueueSome(t.Context(), q)
				if err != nil {
					return // Redis is gone
				}
				mu.Lock()
				accepted = append(accepted, ids...)
				mu.Unlock()
			}
		})
	}
	wait(t)(400 * time.Millisecond)
	server.Kill()
	stop.Store(true)
	group.Wait()
	server.Restart()
	if len(accepted) < 1000 {
		t.Fatalf("only %d jobs were accepted before the kill", len(accepted))
	}
	for len(accepted) > 0 {
		n := min(500, len(accepted))
		list, err := q.Info(t.Context(), accepted[:n])
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.Place != engine.PlaceLane || len(s.Body) == 0 {
				t.Fatalf("an accepted job is lost: %+v", s)
			}
		}
		accepted = accepted[n:]
	}
}

func enqueueSome(ctx context.Context, q *engine.Redis) ([]job.ID, error) {
	ids := job.NewGenerator(clock.System{}, rand.Reader)
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range 20 {
		id, err := ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Low})
		if err != nil {
			return nil, err
		}
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: []byte("body")})
	}
	batch.IdempotencyKey = string(batch.Jobs[0].ID)
	accepted, err := q.Enqueue(ctx, batch)
	return accepted.IDs, err
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
