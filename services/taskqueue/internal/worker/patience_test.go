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

// TestPatienceOutlivesOneFailureOfAnotherKind: the server defers a mail and is restarted in between. The mail must
// still be retried for the whole patience.
func TestPatienceOutlivesOneFailureOfAnotherKind(t *testing.T) {
	t.Parallel()
	later := job.Retryable("smtp_4xx", "The mail server answered 450 to the recipient")
	later.Patience = 4 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		begun := now()
		var runs atomic.Int32
		w := begin(t, func(context.Context, worker.Delivery) (job.Result, error) {
			switch n := runs.Add(1); {
			case n == 5:
				return job.Result{}, job.Retryable("connection", "The mail server cannot be reached")
			case now().Sub(begun) < 15*time.Minute:
				return job.Result{}, later
			}
			return job.Result{Sent: true}, nil
		})
		id := w.enqueue(&job.Body{Retry: 3, CreatedMs: begun.UnixMilli()})
		pass(time.Hour)
		if r := w.record(id); r == nil || r.State != job.Finished {
			t.Errorf("after %d attempts: %+v", runs.Load(), r)
		}
		w.end()
	})
}
