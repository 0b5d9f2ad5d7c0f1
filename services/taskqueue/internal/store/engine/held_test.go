package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// TestAPauseFromAWrongClockEnds: a provider failed while the clock of Redis was an hour ahead. When the clock is right
// again, messages must not wait for that hour.
func TestAPauseFromAWrongClockEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Addr, 0, suiteSettings())
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	to := job.Via(job.SMS, "primary")
	h, err := q.Holds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	since := h.NowMs + time.Hour.Milliseconds()
	mark := fmt.Sprintf("%d %d", since+30_000, since)
	if err := client.HSet(t.Context(), "tq:held", string(to), mark).Err(); err != nil {
		t.Fatal(err)
	}
	if h, err = q.Holds(t.Context()); err != nil || len(h.Held) > 0 {
		t.Errorf("paused: %v, %v; want none", h.Held, err)
	}
	if wait, err := q.TryHeld(t.Context(), to, time.Second); err != nil || wait > 0 {
		t.Errorf("wait %v, %v; want none", wait, err)
	}
	if err := q.Hold(t.Context(), to, time.Second); err != nil {
		t.Fatal(err)
	}
	h, err = q.Holds(t.Context())
	if one := h.Held[to]; err != nil || one.UntilMs > h.NowMs+1000 || one.SinceMs > h.NowMs {
		t.Errorf("a new pause: %+v at %d, %v; want one second", one, h.NowMs, err)
	}
}
