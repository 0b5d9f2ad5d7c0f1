package webhook_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

// TestJobsToADeadReceiverEnd closes the receiver's port. All jobs must fail within the delays of their retries plus 15
// minutes for webhooks and 75 minutes for callbacks, with few claims for each job.
func TestJobsToADeadReceiverEnd(t *testing.T) {
	t.Parallel()
	const ladder, callbackLadder = 105 * time.Second, 5*time.Second + 35*time.Minute
	for _, c := range []struct {
		channel job.Channel
		within  time.Duration
	}{
		{job.Webhook, ladder + 15*time.Minute},
		{job.Callback, callbackLadder + 75*time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			targets, err := webhook.NewTargets(nil, netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}}, netguard.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer targets.Close()
			var jobs []*job.Body
			for i := range 500 {
				url := fmt.Sprintf("http://127.0.0.1:1/bill/%d/paid", i)
				jobs = append(jobs, &job.Body{Task: 4, TaskType: 2, LabID: 12, Retry: job.DefaultRetry, Flow: job.LabFlow(12),
					Data: fmt.Appendf(nil, `{"url":%q}`, url), Target: url})
			}
			queue := workertest.NewQueue()
			sender := webhook.New(webhook.Config{Targets: targets, Webhooks: &webhook.Signer{}, Callbacks: &webhook.Signer{},
				Clock: clock.System{}, HostConcurrency: 32,
				Circuits: circuit.New(queue)})
			ended, claims := workertest.Deliver(t, queue, sender, c.channel, jobs, c.within)
			if ended[job.Failed] != len(jobs) {
				t.Errorf("%v within %v: %v", c.channel, c.within, ended)
			}
			t.Logf("%v: %.2f claims a job", c.channel, float64(claims)/float64(len(jobs)))
			if claims > 5*len(jobs) { // one claim per attempt, and one that finds the pause
				t.Errorf("%v: %d claims of %d jobs", c.channel, claims, len(jobs))
			}
		})
	}
}
