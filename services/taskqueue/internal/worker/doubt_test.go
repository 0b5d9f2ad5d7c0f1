package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

func TestADoubtThatMayBeRepeatedIsRetriedAndEndsUnknownOnlyAfterTheLastRetry(t *testing.T) {
	t.Parallel()
	silence := job.RepeatableDoubt("no_answer", "The mail server did not answer after the complete message")
	for name, c := range map[string]struct {
		silent int32 // number of attempts without a response
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

// TestAFailureWithPatienceIsRetriedBeyondTheNumberOfRetries checks that a mail deferred by the server is retried for
// hours, however few retries the task has, but not if the task has no retries.
func TestAFailureWithPatienceIsRetriedBeyondTheNumberOfRetries(t *testing.T) {
	t.Parallel()
	later := job.Retryable("smtp_4xx", "The mail server answered 450 to the recipient")
	later.Patience = 4 * time.Hour
	cases := []struct {
		name  string
		taken time.Duration // time after which the server accepts it
		retry int
		want  job.State
	}{
		{"taken after fifteen minutes", 15 * time.Minute, 1, job.Finished},
		{"taken after three hours", 3 * time.Hour, 3, job.Finished},
		{"taken after five hours", 5 * time.Hour, 3, job.Failed},
		{"without retries", 15 * time.Minute, 0, job.Failed},
	}
	synctest.Test(t, func(t *testing.T) {
		begun := now()
		w := begin(t, func(_ context.Context, d worker.Delivery) (job.Result, error) {
			if now().Sub(begun) < cases[d.Body.TaskType].taken {
				return job.Result{}, later
			}
			return job.Result{Sent: true}, nil
		})
		ids := make([]job.ID, len(cases))
		for n, c := range cases {
			ids[n] = w.enqueue(&job.Body{TaskType: n, Retry: c.retry, CreatedMs: begun.UnixMilli()})
		}
		pass(4*time.Hour + 15*time.Minute)
		for n, c := range cases {
			if r := w.record(ids[n]); r == nil || r.State != c.want {
				t.Errorf("%s: record %+v, want %s", c.name, r, c.want)
			}
		}
		w.end()
	})
}

// TestAJobThatWasSentAndCancelledIsAmongTheDeadOfItsLaboratory checks that a dead letter that could not be retried
// because it was cancelled is counted in its flow, because dead letters are trimmed by flow.
func TestAJobThatWasSentAndCancelledIsAmongTheDeadOfItsLaboratory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *world
		w = begin(t, func(ctx context.Context, d worker.Delivery) (job.Result, error) {
			record := job.RecordOf(d.Body, job.Cancelled, 1)
			_, err := w.queue.Cancel(ctx, []engine.Cancellation{{ID: d.ID, Record: record.Encode(nil)}})
			if err != nil {
				t.Error(err)
			}
			return job.Result{Sent: true}, job.Retryable("timeout", "The receiver did not answer")
		})
		id := w.ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Moderate})
		flow := job.LabFlow(12)
		one := engine.NewJob{ID: id, Flow: flow, Body: (&job.Body{LabID: 12, Flow: flow, Retry: 2}).Encode(nil)}
		batch := engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{one}}
		if _, err := w.queue.Enqueue(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		parts, err := w.queue.DeadParts(t.Context(), 0)
		if r := w.record(id); err != nil || r == nil || r.State != job.Unknown || len(parts) != 1 || parts[flow].Jobs != 1 {
			t.Errorf("record %+v, dead %v, %v", r, parts, err)
		}
		w.end()
	})
}
