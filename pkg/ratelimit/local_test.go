package ratelimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

// naive is the specification: it keeps every allowed attempt and counts all of them each time.
type naive struct{ passed map[string][]time.Time }

func (n *naive) allow(key string, now time.Time, limit int, window time.Duration) ratelimit.Decision {
	var inside []time.Time
	for _, at := range n.passed[key] {
		if now.Sub(at) < window {
			inside = append(inside, at)
		}
	}
	if len(inside) < limit {
		n.passed[key] = append(n.passed[key], now)
		return ratelimit.Decision{Allowed: true, Remaining: limit - len(inside) - 1}
	}
	free := inside[len(inside)-limit].Add(window) // then limit-1 are left in the window
	return ratelimit.Decision{RetryAfter: free.Sub(now)}
}

// moment is a clock that a test sets.
type moment struct{ now time.Time }

func (m *moment) Now() time.Time { return m.now }

func TestLocalMatchesTheSpecification(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		at := &moment{time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
		limiter, model := ratelimit.NewLocal(at), &naive{passed: map[string][]time.Time{}}
		for range rapid.IntRange(1, 80).Draw(t, "attempts") {
			pause := rapid.SampledFrom([]int{0, 0, 0, 1, 7, 999, 1000, 1001, 4000}).Draw(t, "pause")
			at.now = at.now.Add(time.Duration(pause) * time.Millisecond)
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			limit := rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "limit")
			want := model.allow(key, at.now, limit, time.Second)
			got, err := limiter.Allow(t.Context(), key, limit, time.Second)
			if err != nil || got != want {
				t.Fatalf("key %s at %s with limit %d: %+v, error %v; want %+v", key, at.now, limit, got, err, want)
			}
		}
	})
}

func TestAttemptAfterRetryAfterIsAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := ratelimit.NewLocal(clock.System{})
		attempt := func() ratelimit.Decision {
			decision, err := limiter.Allow(t.Context(), "user", 3, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return decision
		}
		for range 3 {
			if !attempt().Allowed {
				t.Fatal("attempt below the limit refused, want it allowed")
			}
			time.Sleep(5 * time.Second)
		}
		refused := attempt()
		if refused.Allowed || refused.RetryAfter != 45*time.Second {
			t.Fatalf("fourth attempt: %+v, want it refused with 45s", refused)
		}
		time.Sleep(refused.RetryAfter - time.Nanosecond)
		if attempt().Allowed {
			t.Fatal("attempt 1ns before RetryAfter allowed, want it refused")
		}
		time.Sleep(time.Nanosecond)
		if !attempt().Allowed {
			t.Fatal("attempt at RetryAfter refused, want it allowed")
		}
	})
}
