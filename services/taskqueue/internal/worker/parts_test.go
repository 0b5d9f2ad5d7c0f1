package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// TestPartsThatWereSentAreNotSentAgainByARetryNorAfterARevival: the second of three parts fails temporarily, then
// permanently. After an operator retries the job, all parts are accepted. The first part must be sent only once,
// whether or not the attempts are traced.
func TestPartsThatWereSentAreNotSentAgainByARetryNorAfterARevival(t *testing.T) {
	t.Parallel()
	for name, tracers := range map[string]trace.TracerProvider{"not traced": nil, "traced": noop.NewTracerProvider()} {
		synctest.Test(t, func(t *testing.T) {
			var seen []string
			h := worker.Traced(handle(func(_ context.Context, d worker.Delivery) (job.Result, error) {
				marks := progress.Read(d.Body, 3)
				seen = append(seen, string(marks))
				marks[0] = progress.Sent
				half := job.Result{Sent: true, Progress: marks}
				switch len(seen) {
				case 1:
					return half, job.Retryable("http_5xx", "away")
				case 2:
					return job.Result{Sent: true}, job.Permanent("http_4xx", "refused") // without progress
				}
				return job.Result{Sent: true}, nil
			}), tracers)
			w := begin(t, h.Handle)
			id := w.enqueue(&job.Body{Task: 6, Retry: 3, Data: []byte(`{}`)})
			pass(time.Minute)
			if r := w.record(id); r == nil || r.State != job.Failed {
				t.Fatalf("%s: %+v", name, r)
			}
			m := manage.Jobs{Queue: w.queue, Clock: clock.System{}}
			if revived, err := m.RetryFailed(t.Context(), task.Caller{Internal: true}, []string{string(id)}); err != nil || len(revived.Done) != 1 {
				t.Fatal(revived, err)
			}
			pass(5 * time.Minute)
			w.end()
			if diff := cmp.Diff([]string{"...", "s..", "s.."}, seen); diff != "" {
				t.Errorf("%s: what the attempts knew (-want +got):\n%s", name, diff)
			}
			if r := w.record(id); r == nil || r.State != job.Finished {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
}

func TestAPaidSendThatIsInterruptedByAStopIsNeverRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sends := 0
		w := begin(t, func(ctx context.Context, d worker.Delivery) (job.Result, error) {
			if err := d.Intend(ctx, "twilio"); err != nil {
				return job.Result{}, err
			}
			sends++
			<-ctx.Done() // the provider never responds
			return job.Result{Sent: true}, job.Doubt("no_answer", "no one knows")
		})
		id := w.enqueue(&job.Body{Task: 1, Retry: 3, Data: []byte(`{}`)})
		pass(time.Second)
		w.end()
		w.start(func(context.Context, worker.Delivery) (job.Result, error) {
			sends++
			return job.Result{Sent: true}, nil
		})
		pass(5 * time.Minute)
		w.end()
		if sends != 1 || w.seen.count("unknown") != 1 {
			t.Errorf("job %s: sent %d times, %d ended unknown", id, sends, w.seen.count("unknown"))
		}
	})
}
