package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// limiters returns a constructor of each implementation; all of them run the same suite.
func limiters() map[string]func(*testing.T) ratelimit.Limiter {
	return map[string]func(*testing.T) ratelimit.Limiter{
		"local":   func(*testing.T) ratelimit.Limiter { return ratelimit.NewLocal(clock.System{}) },
		"redis":   func(t *testing.T) ratelimit.Limiter { return ratelimit.New(quick(t).Client(), prefix) },
		"cluster": func(t *testing.T) ratelimit.Limiter { return ratelimit.New(cluster(t), prefix) },
		"failover": func(t *testing.T) ratelimit.Limiter {
			cfg := ratelimit.FailoverConfig{Timeout: 20 * time.Second, Cooldown: time.Second, Failed: func(err error) { t.Error(err) }}
			return ratelimit.NewFailover(cfg, ratelimit.New(quick(t).Client(), prefix), clock.System{})
		},
		"failover, shared one unavailable": func(t *testing.T) ratelimit.Limiter {
			return ratelimit.NewFailover(ratelimit.FailoverConfig{Timeout: time.Second, Cooldown: time.Hour}, unavailable{}, clock.System{})
		},
	}
}

// quick starts a Redis that does not sync to disk.
func quick(t *testing.T, extra ...string) *redistest.Server {
	t.Helper()
	return redistest.Start(t, append([]string{"--appendfsync", "no"}, extra...)...)
}

func cluster(t *testing.T) redis.UniversalClient {
	t.Helper()
	server := quick(t, "--cluster-enabled", "yes")
	if err := server.Client().ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}})
	t.Cleanup(func() { _ = client.Close() })
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for client.Set(ctx, "ready", 1, time.Second).Err() != nil {
		select {
		case <-ctx.Done():
			t.Fatal("cluster is not ready after 20s")
		case <-ticker.C:
		}
	}
	return client
}

type unavailable struct{}

func (unavailable) Allow(context.Context, string, int, time.Duration) (ratelimit.Decision, error) {
	return ratelimit.Decision{}, errors.New("connection refused")
}

func TestEveryLimiter(t *testing.T) {
	t.Parallel()
	suite := map[string]func(*testing.T, ratelimit.Limiter){
		"allows exactly the limit":                   exactlyTheLimit,
		"separates keys and windows":                 apart,
		"stays exact when the limit falls and rises": fallsAndRises,
		"counts down and returns RetryAfter":         countsDown,
		"refuses invalid limits and windows":         noSense,
		"allows an attempt after RetryAfter":         waits,
	}
	for name, open := range limiters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limiter := open(t)
			for name, test := range suite {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, limiter)
				})
			}
		})
	}
}

// attempt makes an attempt with a key that no other test uses.
func attempt(t *testing.T, l ratelimit.Limiter, key string, limit int, window time.Duration) ratelimit.Decision {
	t.Helper()
	decision, err := l.Allow(t.Context(), t.Name()+key, limit, window)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

func exactlyTheLimit(t *testing.T, l ratelimit.Limiter) {
	const limit, processes, each = 37, 40, 5
	var passed, refused atomic.Int64
	var wait sync.WaitGroup
	for range processes {
		wait.Go(func() {
			for range each {
				decision, err := l.Allow(t.Context(), t.Name(), limit, time.Hour)
				switch {
				case err != nil:
					t.Error(err)
				case decision.Allowed:
					passed.Add(1)
				case decision.RetryAfter > 0 && decision.RetryAfter <= time.Hour:
					refused.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if passed.Load() != limit || refused.Load() != processes*each-limit {
		t.Fatalf("allowed = %d, want %d; refused with RetryAfter = %d, want the others", passed.Load(), limit, refused.Load())
	}
}

func apart(t *testing.T, l ratelimit.Limiter) {
	for range 2 {
		attempt(t, l, "user", 1, time.Hour)
	}
	if !attempt(t, l, "neighbour", 1, time.Hour).Allowed {
		t.Error("attempt with another key refused, want it allowed")
	}
	if !attempt(t, l, "user", 1, time.Minute).Allowed {
		t.Error("attempt with another window refused, want it allowed")
	}
}

func fallsAndRises(t *testing.T, l ratelimit.Limiter) {
	for i, step := range []struct {
		limit   int
		allowed bool
	}{{3, true}, {3, true}, {1, false}, {2, false}, {3, true}, {3, false}, {4, true}, {1, false}, {4, false}} {
		if decision := attempt(t, l, "user", step.limit, time.Hour); decision.Allowed != step.allowed {
			t.Fatalf("attempt %d with limit %d: %+v, want allowed = %v", i, step.limit, decision, step.allowed)
		}
	}
}

func countsDown(t *testing.T, l ratelimit.Limiter) {
	for _, remaining := range []int{2, 1, 0} {
		if got := attempt(t, l, "user", 3, time.Hour); got != (ratelimit.Decision{Allowed: true, Remaining: remaining}) {
			t.Fatalf("decision = %+v, want %d remaining", got, remaining)
		}
	}
	if got := attempt(t, l, "user", 3, time.Hour); got.Allowed || got.Remaining != 0 || got.RetryAfter <= 59*time.Minute || got.RetryAfter > time.Hour {
		t.Fatalf("fourth attempt: %+v, want it refused with RetryAfter of about an hour", got)
	}
}

func noSense(t *testing.T, l ratelimit.Limiter) {
	if _, err := l.Allow(t.Context(), "user", 0, time.Minute); err == nil {
		t.Error("limit 0 accepted, want an error")
	}
	if _, err := l.Allow(t.Context(), "user", 1, 0); err == nil {
		t.Error("window 0 accepted, want an error")
	}
}

func waits(t *testing.T, l ratelimit.Limiter) {
	attempt(t, l, "user", 1, 100*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		decision := attempt(t, l, "user", 1, 100*time.Millisecond)
		if decision.Allowed {
			return
		}
		timer := time.NewTimer(decision.RetryAfter)
		select {
		case <-ctx.Done():
			t.Fatal("no attempt allowed within 20s, want one after RetryAfter")
		case <-timer.C:
		}
	}
}
