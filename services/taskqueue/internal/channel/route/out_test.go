package route

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

// TestWhatWaitsForARowIsNotAskedAgainAndAgainWhileTheDatabaseIsAway: the only row is invalid, then the database becomes
// unavailable, so that the pause is not extended by reads of the rows. Waiting messages must be claimed at most once a
// minute.
func TestWhatWaitsForARowIsNotAskedAgainAndAgainWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(false)
		b.broken["a"] = true
		b.use(t, Row{Channel: "email", Provider: "a"})
		const minutes = 20
		_, claims := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, mails(3), minutes*time.Minute)
		if claims > messages*(minutes+1) { // at most one claim per message and minute
			t.Errorf("%d claims of %d messages in %d minutes", claims, messages, minutes)
		}
	})
}

// TestARowThatIsOutHoldsBackNothingOfTheOthers: a provider recovers from an outage while another row is invalid. All
// messages must be sent.
func TestARowThatIsOutHoldsBackNothingOfTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, begun := newFixture(false), time.Now()
		b.broken["out"] = true
		b.says["a"] = func() (job.Result, error) {
			if time.Since(begun) > outage {
				return job.Result{Sent: true}, nil
			}
			return job.Result{}, job.Retryable("http_503", "The provider answered 503")
		}
		b.use(t, Row{Channel: "email", Provider: "a"}, Row{Channel: "email", Provider: "out", Position: 1})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { // reads the rows like the service
			for ctx.Err() == nil {
				b.set.tell(ctx, b.set.Rows(), b.set.Rows())
				time.Sleep(15 * time.Second)
			}
		}()
		var all []*job.Body
		for range 30 {
			all = append(all, mails(3)...)
		}
		ended, _ := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, all, 2*outage)
		if ended[job.Finished] != len(all) {
			t.Errorf("%d of %d are sent %v after the provider is back", ended[job.Finished], len(all), outage)
		}
		stop()
		time.Sleep(time.Minute)
	})
}

// TestAHandlerHasTheTenMinutesOfAMailServer: a mail server replies to the complete message after eight minutes. The
// handler must still get the reply.
func TestAHandlerHasTheTenMinutesOfAMailServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s := newFixture(false), &slow{}
		ended, _ := workertest.Deliver(t, b.queue, s, job.Email, mails(3)[:1], time.Hour)
		if s.runs != 1 || ended[job.Finished] != 1 {
			t.Errorf("sent %d times, %v", s.runs, ended)
		}
	})
}

type slow struct{ runs int }

func (s *slow) Handle(ctx context.Context, _ worker.Delivery) (job.Result, error) {
	s.runs++
	select {
	case <-ctx.Done():
		return job.Result{Sent: true}, job.RepeatableDoubt("no_answer", "The mail server did not answer after the complete message")
	case <-time.After(8 * time.Minute):
		return job.Result{Sent: true, MessageID: "m"}, nil
	}
}
