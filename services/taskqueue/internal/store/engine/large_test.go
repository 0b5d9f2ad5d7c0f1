package engine_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// largest stores the size of the longest script reply, counting only texts.
type largest struct{ bytes atomic.Int64 }

func (l *largest) DialHook(next redis.DialHook) redis.DialHook { return next }
func (l *largest) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *largest) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		one, ok := cmd.(*redis.Cmd)
		if !ok || err != nil {
			return err
		}
		parts, _ := one.Val().([]any)
		var n int64
		for _, part := range parts {
			text, _ := part.(string)
			n += int64(len(text))
		}
		l.bytes.Store(max(l.bytes.Load(), n))
		return nil
	}
}

// TestALookAtManyLargeJobsNeverHoldsRedisForLong checks that many large jobs are read in many short calls, so that
// other clients of Redis are served in between.
func TestALookAtManyLargeJobsNeverHoldsRedisForLong(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	seen := &largest{}
	client.AddHook(seen)
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: suiteSettings()})
	ids, gen := []job.ID{}, job.NewGenerator(clock.System{})
	for n := range 150 {
		id := gen.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Low})
		body := bytes.Repeat([]byte{byte(n)}, 64<<10)
		batch := engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{{ID: id, Body: body}}}
		if _, err := q.Enqueue(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	snapshots, err := q.Info(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range snapshots {
		if s.ID != ids[n] || s.Place != engine.PlaceLane || len(s.Body) != 64<<10 || s.Body[0] != byte(n) {
			t.Fatalf("job %d: %s in place %d, %d bytes", n, s.ID, s.Place, len(s.Body))
		}
	}
	if got := seen.bytes.Load(); got > 256<<10 {
		t.Errorf("one call read %d bytes", got)
	}
}
