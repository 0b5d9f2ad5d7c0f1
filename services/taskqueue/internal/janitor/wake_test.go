package janitor_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// TestAMarkThatNoOneTriesIsGoneBeforeItsAlert: a provider failed and has no more traffic in the evening. Its pause must
// be deleted within ten minutes, before the alert QueueProviderPaused would fire.
func TestAMarkThatNoOneTriesIsGoneBeforeItsAlert(t *testing.T) {
	t.Parallel()
	const to, alertAfter = job.Destination("via:sms first"), 10 * time.Minute
	for name, failing := range map[string]time.Duration{"once": 0, "for an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			j := janitor.New(janitor.Config{}, janitor.Deps{Queue: w.queue, Observer: w.seen, Clock: w.clock, RedisTime: w.clock,
				IDs: w.ids, Roll: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler)})
			if err := j.Reap(t.Context()); err != nil { // makes this janitor the leader
				t.Fatal(err)
			}
			for failed := time.Duration(0); failed <= failing; failed += time.Minute {
				if err := w.queue.Hold(t.Context(), to, 30*time.Second); err != nil {
					t.Fatal(err)
				}
				if failed < failing {
					w.clock.add(time.Minute)
				}
			}
			var kept time.Duration
			for held := true; held && kept < time.Hour; kept += 10 * time.Second {
				w.clock.add(10 * time.Second)
				if err := j.Wake(t.Context()); err != nil {
					t.Fatal(err)
				}
				h, err := w.queue.Holds(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, held = h.Held[to]
			}
			if kept >= alertAfter || kept < 5*time.Minute {
				t.Errorf("the mark was removed %v after the last failure, want at least 5m0s, and less than %v", kept, alertAfter)
			}
		})
	}
}
