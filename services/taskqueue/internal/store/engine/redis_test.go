package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// open returns an engine on database db of the server. Its scripts are not loaded, so that NOSCRIPT is tested too.
func open(t testing.TB, addr string, db int, set engine.Settings) *engine.Redis {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, DB: db, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	return q
}

// wait returns a function that sleeps, because Redis's clock cannot be set.
func wait(t testing.TB) func(time.Duration) {
	return func(d time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		<-ctx.Done()
	}
}

func TestTheModelConforms(t *testing.T) {
	t.Parallel()
	runSuite(t, func(*testing.T) harness {
		clk := &manual{at: time.UnixMilli(1_790_000_000_000)}
		return harness{Queue: enginetest.New(clk, suiteSettings()), Advance: clk.add}
	})
}

func TestRedisConforms(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--databases", "64")
	databases := make(chan int, 64)
	for db := range 64 {
		databases <- db
	}
	runSuite(t, func(t *testing.T) harness {
		return harness{Queue: open(t, server.Addr, <-databases, suiteSettings()), Advance: wait(t)}
	})
}
