package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// shifted is a clock with a constant error.
type shifted time.Duration

func (s shifted) Now() time.Time { return clock.System{}.Now().Add(time.Duration(s)) }

// TestADifferenceOfTheClocksChangesNothing sets Redis's clock hours ahead of or behind the processes' clocks. A
// one-time password must be delivered, a retry must follow after seconds, and all reported times must be of one clock.
func TestADifferenceOfTheClocksChangesNothing(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			queue := enginetest.New(shifted(ahead), engine.DefaultSettings())
			redis := &engine.Clock{System: clock.System{}}
			if err := redis.Measure(t.Context(), queue); err != nil || redis.Ahead().Round(time.Second) != ahead {
				t.Fatalf("measured %s, %v; want %s", redis.Ahead(), err, ahead)
			}
			w := &world{t: t, queue: queue, ids: newIDs()}
			runs := 0
			w.start(func(context.Context, worker.Delivery) (job.Result, error) {
				if runs++; runs == 1 {
					return job.Result{}, job.Retryable("x", "x")
				}
				return job.Result{}, nil
			})
			stamp := redis.Now()
			id := w.enqueue(&job.Body{Retry: 3, CreatedMs: stamp.UnixMilli(), ExpiresMs: stamp.Add(5 * time.Minute).UnixMilli()})
			pass(time.Minute)
			r := w.record(id)
			if r == nil || r.State != job.Finished || runs != 2 {
				t.Fatalf("Redis %s ahead: record %+v after %d attempts, want it finished by the second", ahead, r, runs)
			}
			if took := r.EndedMs - r.StartedMs; r.StartedMs < stamp.UnixMilli() || took < 0 || took > 60_000 {
				t.Errorf("Redis %s ahead: started %d ms after acceptance, ended %d ms later; want one clock", ahead, r.StartedMs-stamp.UnixMilli(), took)
			}
			w.end()
		})
	}
}
