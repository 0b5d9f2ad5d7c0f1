package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// Limits that hold for a laboratory while another one floods the queue.
const (
	promisedDelivery = 2 * time.Second // 95 of 100 of its webhooks, from the request to the receiver
	promisedRerun    = 5 * time.Second // from an instrument's values to the request for an automatic rerun
	besideFlood      = 20              // number of webhooks, one per second
)

// slow is a receiver that responds late or never. Its requests end with the test.
type slow struct {
	*httptest.Server
	inFlight atomic.Int64
}

// answersAfter starts a receiver that responds after d, or never if d is 0.
func answersAfter(t *testing.T, d time.Duration) *slow {
	t.Helper()
	s, ended := &slow{}, make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.inFlight.Add(1)
		defer s.inFlight.Add(-1)
		var answer <-chan time.Time
		if d > 0 {
			answer = time.After(d)
		}
		select {
		case <-answer:
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(ended) })
	return s
}

// arrivals holds the arrival times of a laboratory's numbered webhooks.
type arrivals struct {
	*httptest.Server
	mu sync.Mutex
	at map[int]time.Time // guarded by mu
}

func receiveNumbers(t *testing.T) *arrivals {
	t.Helper()
	a := &arrivals{at: map[int]time.Time{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ N int }
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.at[body.N].IsZero() {
			a.at[body.N] = time.Now()
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// took returns the delivery time of each webhook, the shortest first, or an error while some have not arrived.
func (a *arrivals) took(sent []time.Time) (list []time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) < len(sent) {
		return nil, fmt.Errorf("%d of %d webhooks arrived", len(a.at), len(sent))
	}
	for n, at := range sent {
		list = append(list, a.at[n].Sub(at))
	}
	slices.Sort(list)
	return list, nil
}

// flood makes the second laboratory repeatedly post as many webhooks as a request may have, to the receivers in turn.
// The flood is cancelled when the test ends, so that later tests are not affected.
func flood(t *testing.T, jobs int, receivers ...*slow) {
	t.Helper()
	const batch = 500
	t.Cleanup(func() { endFlood(t) })
	for first := 0; first < jobs; first += batch {
		var tasks []string
		for n := first; n < min(first+batch, jobs); n++ {
			tasks = append(tasks, fmt.Sprintf(`{"task":4,"task_type":2,"data":{"url":"%s/flood","isBody":1,"args":{"n":%d}}}`,
				receivers[n%len(receivers)].URL, n))
		}
		enqueued(t, otherSession, "/queue/", "["+strings.Join(tasks, ",")+"]")
	}
	await.True(t, "requests to all slow receivers", func() bool {
		return !slices.ContainsFunc(receivers, func(r *slow) bool { return r.inFlight.Load() == 0 })
	})
}

// endFlood cancels the laboratory's webhooks as an operator does. It repeats that until none is left, because jobs may
// be between two states.
func endFlood(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	await.Nil(t, "the end of the flood", func() error {
		if err := stack.Run(ctx, "exec", "taskqueue", "bulk", "-lab", "13", "-channel", "webhook", "cancel"); err != nil {
			return err
		}
		answer, err := send(ctx, stack.Endpoints.TaskqueueAdminPage, "", "GET", "api/overview", "",
			"Authorization", "Bearer "+queueAdminToken)
		var queue struct {
			Lanes []struct {
				Channel        string
				Ready, Running int
			}
		}
		if err = errors.Join(err, json.Unmarshal([]byte(answer.body), &queue)); err != nil {
			return err
		}
		for _, lane := range queue.Lanes {
			if lane.Channel == "webhook" && lane.Ready+lane.Running > 0 {
				return fmt.Errorf("%d webhooks wait and %d run", lane.Ready, lane.Running)
			}
		}
		return nil
	})
}

// besideTheFlood sends the first laboratory's webhooks and an instrument's values, and checks the limits.
func besideTheFlood(t *testing.T, report int) {
	t.Helper()
	quick := receiveNumbers(t)
	newReport(t, report)
	var sent []time.Time
	everySecond := time.NewTicker(time.Second)
	defer everySecond.Stop()
	for n := range besideFlood {
		<-everySecond.C
		sent = append(sent, time.Now())
		enqueued(t, labSession, "/queue/", fmt.Sprintf(`[{"task":4,"task_type":2,"data":{"url":"%s/","isBody":1,"args":{"n":%d}}}]`, quick.URL, n))
	}
	rerun := automaticRerun(t, report)
	var took []time.Duration
	await.Nil(t, "the webhooks beside the flood", func() (err error) { took, err = quick.took(sent); return err })
	p95 := took[len(took)*95/100-1]
	t.Logf("beside the flood: webhooks p50 %v, p95 %v, longest %v; an automatic rerun %v",
		took[len(took)/2], p95, took[len(took)-1], rerun)
	if p95 > promisedDelivery {
		t.Errorf("p95 of webhooks beside the flood is %v, want at most %v", p95, promisedDelivery)
	}
	if rerun > promisedRerun {
		t.Errorf("an automatic rerun beside the flood took %v, want at most %v", rerun, promisedRerun)
	}
}

// automaticRerun makes an instrument send values that need a rerun, and returns the time until the request for it
// arrived.
func automaticRerun(t *testing.T, report int) time.Duration {
	t.Helper()
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", report)
	begin := time.Now()
	if auto := call(t, labSession, "POST", path+"/auto", lowHaemoglobin); auto.status != http.StatusOK {
		t.Fatalf("auto: %d %s", auto.status, auto.body)
	}
	await.Nil(t, "the automatic rerun", func() error {
		if pending, _ := call(t, labSession, "GET", path, "").json(t)["pending_requests"].([]any); len(pending) != 1 {
			return errors.New("no request for it came")
		}
		return nil
	})
	return time.Since(begin)
}

func TestTaskqueueAFloodToASlowReceiverHoldsUpNobodyElse(t *testing.T) {
	flood(t, 5000, answersAfter(t, 2*time.Second))
	besideTheFlood(t, 97031)
}

func TestTaskqueueAFloodToReceiversThatHangHoldsUpNobodyElse(t *testing.T) {
	var receivers []*slow
	for range 6 {
		receivers = append(receivers, answersAfter(t, 0))
	}
	flood(t, 1000, receivers...)
	besideTheFlood(t, 97032)
}
