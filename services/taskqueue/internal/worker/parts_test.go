package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

func TestWhatAHandlerRemembersInTheDataIsThereInTheRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan string, 2)
		w := begin(t, func(_ context.Context, d worker.Delivery) (job.Result, error) {
			marks := progress.Read(d.Body.Data, 2)
			seen <- text(marks)
			if d.Attempt == 1 {
				d.Body.Data = progress.Write(d.Body.Data, []progress.Mark{progress.Sent, progress.Left})
				return job.Result{Sent: true}, job.Retryable("half", "half was sent")
			}
			return job.Result{Sent: true}, nil
		})
		id := w.enqueue(&job.Body{Task: 3, Retry: 3, Data: []byte(`{"tokens":["a","b"]}`)})
		pass(time.Minute)
		w.end()
		if first, second := <-seen, <-seen; first != ".." || second != "s." {
			t.Errorf("the first attempt saw %q, the second %q", first, second)
		}
		if r := w.record(id); r == nil || r.State != job.Finished || r.Attempts != 2 {
			t.Errorf("%+v", r)
		}
	})
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
			<-ctx.Done() // the provider never answers
			return job.Result{Sent: true}, job.Doubt("no_answer", "nobody knows")
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

func text(marks []progress.Mark) string {
	var out []byte
	for _, m := range marks {
		out = append(out, byte(m))
	}
	return string(out)
}
