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

// shared is a limiter that processes share, and that can be away or hang.
type shared struct {
	*ratelimit.Local

	mu    sync.Mutex // guards what follows
	away  bool
	hangs bool
	asked int
}

func (s *shared) set(away, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = away, hangs
}

func (s *shared) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *shared) Allow(ctx context.Context, key string, limit int, window time.Duration) (ratelimit.Decision, error) {
	s.mu.Lock()
	s.asked++
	away, hangs := s.away, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ratelimit.Decision{}, ctx.Err()
	}
	if away {
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
					t.Fatalf("attempt %d: %+v", i, got)
				}
			}
		},
		"what others used up is given back": func(t *testing.T, s *shared, attempt func(int) ratelimit.Decision) {
			attempt(0)
			attempt(0)
			attempt(0)
			if attempt(1).Allowed {
				t.Fatal("the fourth passed")
			}
			s.set(true, false)
			for i := range 3 { // process 1 let no one pass so far
				if got := attempt(1); !got.Allowed {
					t.Fatalf("attempt %d of a process that is on its own: %+v", i, got)
				}
			}
		},
		"a process remembers what passed before the outage": func(t *testing.T, s *shared, attempt func(int) ratelimit.Decision) {
			attempt(0)
			attempt(0)
			s.set(true, false)
			if !attempt(0).Allowed || attempt(0).Allowed {
				t.Fatal("not exactly one more passed")
			}
		},
		"an outage is waited for once and then passed over": func(t *testing.T, s *shared, attempt func(int) ratelimit.Decision) {
			s.set(false, true)
			from := time.Now()
			attempt(0)
			attempt(0)
			if took := time.Since(from); took != 100*time.Millisecond || s.count() != 1 {
				t.Fatalf("waited %s and asked %d times", took, s.count())
			}
			s.set(false, false)
			time.Sleep(time.Second)
			if attempt(0); s.count() != 2 {
				t.Fatal("the shared limiter is not asked again")
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
					cfg := ratelimit.FailoverConfig{Patience: 100 * time.Millisecond, Rest: time.Second}
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

func TestACallerWhoLeavesIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		common := &shared{Local: ratelimit.NewLocal(clock.System{}), hangs: true}
		var failures int
		limiter := ratelimit.NewFailover(ratelimit.FailoverConfig{
			Patience: time.Second, Rest: time.Minute, Failed: func(error) { failures++ },
		}, common, clock.System{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := limiter.Allow(ctx, "user", 3, time.Minute); err != nil {
			t.Fatal(err)
		}
		common.set(false, false)
		if _, err := limiter.Allow(t.Context(), "user", 3, time.Minute); err != nil || failures != 0 || common.count() != 2 {
			t.Fatalf("%v, %d failures, asked %d times", err, failures, common.count())
		}
	})
}
