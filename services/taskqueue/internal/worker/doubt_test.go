package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

func TestADoubtThatMayBeRepeatedIsRetriedAndEndsUnknownOnlyAfterTheLastRetry(t *testing.T) {
	t.Parallel()
	silence := job.RepeatableDoubt("no_answer", "The mail server did not answer after the complete message")
	for name, c := range map[string]struct {
		silent int32 // attempts without an answer
		want   job.State
		runs   int32
	}{
		"answered at the third attempt": {2, job.Finished, 3},
		"never answered":                {99, job.Unknown, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			var runs atomic.Int32
			w := begin(t, func(context.Context, worker.Delivery) (job.Result, error) {
				if runs.Add(1) <= c.silent {
					return job.Result{Sent: true}, silence
				}
				return job.Result{Sent: true, MessageID: "m"}, nil
			})
			id := w.enqueue(&job.Body{Retry: 2})
			pass(10 * time.Minute)
			if r := w.record(id); r == nil || r.State != c.want || runs.Load() != c.runs || r.Attempts != int(c.runs) {
				t.Errorf("%s: %d runs, record %+v", name, runs.Load(), r)
			}
			w.end()
		})
	}
}
