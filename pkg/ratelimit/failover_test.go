package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
)

// shared is a limiter that several processes share; it can fail or hang.
type shared struct {
	*ratelimit.Local

	mu    sync.Mutex // guards the fields below
	fails bool
	hangs bool
	calls int
}

func (s *shared) set(fails, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.hangs = fails, hangs
}

func (s *shared) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *shared) Allow(ctx context.Context, key string, limit int, window time.Duration) (ratelimit.Decision, error) {
	s.mu.Lock()
	s.calls++
	fails, hangs := s.fails, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ratelimit.Decision{}, ctx.Err()
	}
	if fails {
		return ratelimit.Decision{}, errors.New("connection refused")
	}
	return s.Local.Allow(ctx, key, limit, window)
}

func TestFailover(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*testing.T, *shared, func(process int) ratelimit.Decision){
		"processes share what the shared limiter counts": func(t *testing.T, _ *shared, attempt func(int) ratelimit.Decision) {
			for i, want := range []bool{true, true, true, false} {
				if got := attempt(i % 2); got.Allowed != want {
					t.Fatalf("attempt %d: %+v, want allowed = %v", i, got, want)
				}
			}
		},
		"an attempt refused by the shared limiter is given back": func(t *testing.T, s *shared, attempt func(int) ratelimit.Decision) {
			attempt(0)
			attempt(0)
			attempt(0)
			if attempt(1).Allowed {
				t.Fatal("fourth attempt allowed, want it refused")
			}
			s.set(true, false)
			for i := range 3 { // process 1 has allowed no attempt so far
				if got := attempt(1); !got.Allowed {
					t.Fatalf("attempt %d of a process without the shared limiter: %+v, want it allowed", i, got)
				}
			}
		},
		"attempts before the outage still count": func(t *testing.T, s *shared, attempt func(int) ratelimit.Decision) {
			attempt(0)
			attempt(0)
			s.set(true, false)
			if !attempt(0).Allowed || attempt(0).Allowed {
				t.Fatal("attempts allowed during the outage != 1, want 1")
			}
		},
		"an outage causes one wait, then the shared limiter is skipped": func(t *testing.T, s *shared, attempt func(int) ratelimit.Decision) {
			s.set(false, true)
			from := time.Now()
			attempt(0)
			attempt(0)
			if took := time.Since(from); took != 100*time.Millisecond || s.count() != 1 {
				t.Fatalf("waited %s and called the shared limiter %d times, want 100ms and once", took, s.count())
			}
			s.set(false, false)
			time.Sleep(time.Second)
			if attempt(0); s.count() != 2 {
				t.Fatal("the shared limiter is not called after the cooldown, want a second call")
			}
		},
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				common := &shared{Local: ratelimit.NewLocal(clock.System{})}
				var processes [2]*ratelimit.Failover
				for i := range processes {
					cfg := ratelimit.FailoverConfig{Timeout: 100 * time.Millisecond, Cooldown: time.Second}
					processes[i] = ratelimit.NewFailover(cfg, common, clock.System{})
				}
				run(t, common, func(process int) ratelimit.Decision {
					decision, err := processes[process].Allow(t.Context(), "user", 3, time.Minute)
					if err != nil {
						t.Fatal(err)
					}
					return decision
				})
			})
		})
	}
}

func TestCanceledCallerIsNotAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		common := &shared{Local: ratelimit.NewLocal(clock.System{}), hangs: true}
		var failures int
		limiter := ratelimit.NewFailover(ratelimit.FailoverConfig{
			Timeout: time.Second, Cooldown: time.Minute, Failed: func(error) { failures++ },
		}, common, clock.System{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := limiter.Allow(ctx, "user", 3, time.Minute); err != nil {
			t.Fatal(err)
		}
		common.set(false, false)
		if _, err := limiter.Allow(t.Context(), "user", 3, time.Minute); err != nil || failures != 0 || common.count() != 2 {
			t.Fatalf("error %v, %d failures, %d calls of the shared limiter; want nil, 0 and 2", err, failures, common.count())
		}
	})
}
