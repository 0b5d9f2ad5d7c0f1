package ratelimit_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

const prefix = "test:rate:"

// span bounds the time at which Redis counted an allowed attempt.
type span struct{ from, to time.Time }

func TestNoWindowAllowsMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	limiter := ratelimit.New(quick(t).Client(), prefix)
	const limit, window = 10, 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex // guards spans
	var spans []span
	var wait sync.WaitGroup
	for range 12 {
		wait.Go(func() {
			for ctx.Err() == nil {
				from := time.Now()
				decision, err := limiter.Allow(ctx, "user", limit, window)
				switch {
				case err != nil && ctx.Err() == nil:
					t.Error(err)
					return
				case err != nil:
					return
				case !decision.Allowed:
					continue
				}
				mu.Lock()
				if spans = append(spans, span{from, time.Now()}); len(spans) >= 5*limit {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(spans) < 5*limit {
		t.Fatalf("allowed attempts = %d, want %d", len(spans), 5*limit)
	}
	// Redis counted each attempt at some time within its span. The first and the last of any limit+1 attempts must
	// therefore be at least a window apart.
	slices.SortFunc(spans, func(a, b span) int { return a.to.Compare(b.to) })
	for i := limit; i < len(spans); i++ {
		from := spans[i].from
		for _, s := range spans[i-limit : i] {
			if s.from.Before(from) {
				from = s.from
			}
		}
		if took := spans[i].to.Sub(from); took < window {
			t.Fatalf("%d attempts allowed within %s, want at most the limit", limit+1, took)
		}
	}
}

func TestKeyHoldsAtMostLimitEntriesAndExpires(t *testing.T) {
	t.Parallel()
	client := quick(t).Client()
	limiter := ratelimit.New(client, prefix)
	for range 50 {
		if _, err := limiter.Allow(t.Context(), "user", 5, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 || keys[0] != prefix+"user:60000" {
		t.Fatalf("keys = %q, error %v, want one with prefix, key and window", keys, err)
	}
	if n := client.ZCard(t.Context(), keys[0]).Val(); n != 5 {
		t.Errorf("entries = %d, want 5", n)
	}
	if left := client.PTTL(t.Context(), keys[0]).Val(); left <= 0 || left > 61*time.Second {
		t.Errorf("time to live = %s, want at most 61s", left)
	}
}

// put records an allowed attempt at a time.
func put(t *testing.T, client *redis.Client, key string, at time.Time) {
	t.Helper()
	stamp := strconv.FormatInt(at.UnixMicro(), 10)
	if err := client.ZAdd(t.Context(), prefix+key+":60000", redis.Z{Score: float64(at.UnixMicro()), Member: stamp}).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRetryAfterIsTheExpiryOfTheBlockingEntry(t *testing.T) {
	t.Parallel()
	client := quick(t).Client()
	limiter := ratelimit.New(client, prefix)
	now := time.Now()
	for _, ago := range []time.Duration{40 * time.Second, 25 * time.Second, 10 * time.Second} {
		put(t, client, "user", now.Add(-ago))
	}
	for limit, wait := range map[int]time.Duration{1: 50 * time.Second, 2: 35 * time.Second, 3: 20 * time.Second} {
		decision, err := limiter.Allow(t.Context(), "user", limit, time.Minute)
		elapsed := time.Since(now)
		if err != nil || decision.Allowed || decision.RetryAfter > wait || decision.RetryAfter < wait-elapsed {
			t.Errorf("with limit %d: %+v, error %v; want RetryAfter %s", limit, decision, err, wait)
		}
	}
}

func TestClockJumpNeitherOpensNorLocksTheLimit(t *testing.T) {
	t.Parallel()
	client := quick(t).Client()
	limiter := ratelimit.New(client, prefix)
	ahead := time.Now().Add(5 * time.Second)
	put(t, client, "slower replica", ahead)
	put(t, client, "wrong clock", time.Now().Add(time.Hour))
	for range 2 {
		if _, err := limiter.Allow(t.Context(), "slower replica", 3, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	decision, err := limiter.Allow(t.Context(), "slower replica", 3, time.Minute)
	if err != nil || decision.Allowed || decision.RetryAfter > time.Minute {
		t.Errorf("after three attempts, one stamped by a faster clock: %+v, error %v, want it refused for at most a minute", decision, err)
	}
	// No two attempts may have the same stamp: the second would not count.
	var stamps []string
	for i := range int64(3) {
		stamps = append(stamps, strconv.FormatInt(ahead.UnixMicro()+i, 10))
	}
	if got := client.ZRange(t.Context(), prefix+"slower replica:60000", 0, -1).Val(); !slices.Equal(got, stamps) {
		t.Errorf("stamps = %v, want %v", got, stamps)
	}
	decision, err = limiter.Allow(t.Context(), "wrong clock", 1, time.Minute)
	if err != nil || !decision.Allowed {
		t.Errorf("after a stamp in the next hour: %+v, error %v, want it allowed", decision, err)
	}
}

func TestUnavailableRedisIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limiter := ratelimit.New(server.Client(), prefix)
	server.Kill()
	if decision, err := limiter.Allow(t.Context(), "user", 1, time.Minute); err == nil || decision.Allowed {
		t.Fatalf("decision = %+v, error %v, want an error and no permission", decision, err)
	}
}
