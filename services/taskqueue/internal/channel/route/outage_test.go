package route

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

const (
	outage   = 150 * time.Second // longer than all retries of a task
	messages = 200
)

// TestAnOutageOfAProviderFailsNoMessageThatWasNotTried stops a mail server for two and a half minutes. With retries,
// every message must arrive; without retries, only messages sent during the outage may fail.
func TestAnOutageOfAProviderFailsNoMessageThatWasNotTried(t *testing.T) {
	t.Parallel()
	for _, retry := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			b, begun, asked := newFixture(false), time.Now(), 0
			var mu sync.Mutex // guards asked
			b.says["a"] = func() (job.Result, error) {
				if time.Since(begun) > outage {
					return job.Result{Sent: true}, nil
				}
				mu.Lock()
				defer mu.Unlock()
				asked++
				return job.Result{}, job.Retryable("http_503", "The provider answered 503")
			}
			b.use(t, Row{Channel: "email", Provider: "a"})
			ended, claims := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, mails(retry), 20*time.Minute)
			t.Logf("retry %d: %d requests during the outage; %d finished, %d failed", retry, asked, ended[job.Finished], ended[job.Failed])
			t.Logf("%.1f claims each", float64(claims)/messages)
			if claims > 3*messages { // one claim that finds the pause, one for the send, and the test sends
				t.Errorf("retry %d: %d claims", retry, claims)
			}
			maxFailed := 0
			if retry == 0 {
				maxFailed = asked
			}
			if ended[job.Failed] > maxFailed || ended[job.Finished]+ended[job.Failed] != messages {
				t.Errorf("retry %d: %v, %d were asked for", retry, ended, asked)
			}
		})
	}
}

// TestAMessageThatOneProviderRefusesWaitsForTheOther: the first provider refuses a region, and the one that serves it is
// unavailable for two and a half minutes. The refusals must not use up the retries of the messages.
func TestAMessageThatOneProviderRefusesWaitsForTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, begun := newFixture(false), time.Now()
		b.says["refuses"] = says(provider.FailOverOne("region", "The provider does not serve this region"))
		b.says["away"] = func() (job.Result, error) {
			if time.Since(begun) > outage {
				return job.Result{Sent: true}, nil
			}
			return job.Result{}, job.Retryable("http_503", "The provider answered 503")
		}
		b.use(t, Row{Channel: "email", Provider: "refuses"}, Row{Channel: "email", Provider: "away", Position: 1})
		ended, _ := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, mails(3), 20*time.Minute)
		if ended[job.Finished] != messages {
			t.Errorf("got %v, want all finished", ended)
		}
	})
}

// TestARefusalOfOneMessageEndsThePauseOfAProvider: a gateway was unavailable and has recovered. The message that tests
// it belongs to a campaign to invalid numbers; the refusal must not keep the messages of all others waiting.
func TestARefusalOfOneMessageEndsThePauseOfAProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(false)
		var result job.Result
		said := error(job.Retryable("http_503", "x"))
		b.says["a"] = func() (job.Result, error) { return result, said }
		b.use(t, Row{Provider: "a"})
		for range breakerFailures {
			_ = b.send(t, 1, india)
		}
		time.Sleep(circuit.Open + time.Second) // virtual time
		result.HTTPStatus, said = 200, provider.FailOverOne("refused_by_provider", "x")
		if f := job.AsFailure(b.send(t, 1, india)); f.Reason != "refused_by_provider" {
			t.Fatalf("not tested after the pause: %+v", f)
		}
		if said = nil; b.send(t, 1, india) != nil {
			t.Error("still paused after a refusal of one message, want the next one sent")
		}
	})
}

// TestAMessageDoesNotWaitForAProviderWithoutEnd: a provider never recovers. Callers must be informed within the delays
// of the retries plus a quarter of an hour.
func TestAMessageDoesNotWaitForAProviderWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(false)
		b.says["a"] = says(job.Retryable("network", "The provider cannot be reached"))
		b.use(t, Row{Channel: "email", Provider: "a"})
		if ended, _ := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, mails(3), 105*time.Second+15*time.Minute); ended[job.Failed] != messages {
			t.Errorf("got %v, want messages", ended)
		}
	})
}

// TestAProviderThatAsksForTimeGetsItFromAll: a gateway requests a pause of five minutes. No request may be made
// meanwhile, each waiting job is claimed once, and all messages arrive.
func TestAProviderThatAsksForTimeGetsItFromAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, begun, early := newFixture(false), time.Now(), 0
		var mu sync.Mutex // guards early
		b.says["a"] = func() (job.Result, error) {
			left := 5*time.Minute - time.Since(begun)
			if left <= 0 {
				return job.Result{Sent: true}, nil
			}
			mu.Lock()
			defer mu.Unlock()
			early++
			return job.Result{}, job.Retryable(provider.RateLimited, "slow down").After(left)
		}
		b.use(t, Row{Channel: "email", Provider: "a"})
		ended, claims := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, mails(3), 6*time.Minute)
		if ended[job.Finished] != messages || early > 32 || claims > 3*messages {
			t.Errorf("%v, asked %d times too early, %d claims", ended, early, claims)
		}
	})
}

// TestARateLimitUsesUpNoRetries: a gateway accepts ten messages per second and answers 429 to all others, with and
// without Retry-After. A campaign is larger than what it accepts in the time of all retries. Every message must arrive,
// also one without retries, and the gateway must not be called much more often than it accepts messages.
func TestARateLimitUsesUpNoRetries(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"", "2"} {
		for _, retry := range []int{0, 3} {
			synctest.Test(t, func(t *testing.T) {
				b, refused := newFixture(false), 0
				taken := map[int64]int{}
				var mu sync.Mutex // guards refused and taken
				b.says["a"] = func() (job.Result, error) {
					time.Sleep(100 * time.Millisecond) // virtual time
					mu.Lock()
					defer mu.Unlock()
					second := time.Now().Unix()
					if taken[second]++; taken[second] <= 10 {
						return job.Result{Sent: true}, nil
					}
					refused++
					answer := &netguard.Response{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {after}}}
					return job.Result{HTTPStatus: answer.Status}, provider.Status(answer, time.Now(), true, "")
				}
				b.use(t, Row{Channel: "email", Provider: "a"})
				ended, claims := workertest.Deliver(t, b.queue, b.set.Handler(job.Email), job.Email, mails(retry), 10*time.Minute)
				t.Logf("Retry-After %q, retry %d: %d refusals, %d claims", after, retry, refused, claims)
				if ended[job.Finished] != messages || refused > 4*messages {
					t.Errorf("Retry-After %q, retry %d: %v, refused %d times; want all sent", after, retry, ended, refused)
				}
			})
		}
	}
}

func mails(retry int) []*job.Body {
	all := make([]*job.Body, messages)
	for i := range all {
		all[i] = &job.Body{Task: 2, TaskType: 1, LabID: 12, Retry: retry, Data: []byte("{}"), Flow: job.LabFlow(12)}
	}
	return all
}
