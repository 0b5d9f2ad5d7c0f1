package pace_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

// passing counts allowed deliveries by second.
type passing struct {
	pacer     *pace.Pacer
	perSecond float64
	begun     time.Time

	mu     sync.Mutex // guards passed and last
	passed map[int]int
	last   map[int64]time.Duration // by laboratory
}

func (p *passing) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	if err := p.pacer.Pass(ctx, "gateway", p.perSecond, d.Body.Flow); err != nil {
		return job.Result{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed[int(time.Since(p.begun)/time.Second)]++
	p.last[d.Body.LabID] = time.Since(p.begun)
	return job.Result{Sent: true}, nil
}

// flood enqueues n deliveries of laboratory 1, then others of laboratory 2, for the same gateway.
func flood(t *testing.T, n, others int, perSecond float64, d time.Duration) (p *passing, ended, claims int) {
	t.Helper()
	p = &passing{pacer: pace.New(ratelimit.NewLocal(clock.System{})), perSecond: perSecond, begun: time.Now(),
		passed: map[int]int{}, last: map[int64]time.Duration{}}
	var jobs []*job.Body
	for i := range n + others {
		lab := int64(1)
		if i >= n {
			lab = 2
		}
		jobs = append(jobs, &job.Body{LabID: lab, Flow: job.LabFlow(lab), Data: []byte("{}")})
	}
	states, claims := workertest.Deliver(t, workertest.NewQueue(), p, job.SMS, jobs, d)
	return p, states[job.Finished], claims
}

// TestADestinationGetsItsRateAndLaboratoriesTakeTurns sends a campaign to a gateway that accepts twenty messages per
// second. Messages of another laboratory must not wait for the campaign.
func TestADestinationGetsItsRateAndLaboratoriesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ended, claims := flood(t, 1000, 20, 20, 100*time.Second)
		for second, n := range p.passed {
			if n > 20 {
				t.Errorf("%d deliveries in second %d", n, second)
			}
		}
		t.Logf("%d delivered in %v, the other laboratory's in %v, %.1f claims each", ended, p.last[1], p.last[2], float64(claims)/1020)
		if ended != 1020 || p.last[1] > 70*time.Second || p.last[2] > 10*time.Second || claims > 4*1020 {
			t.Errorf("%d delivered, %d claims", ended, claims)
		}
	})
}

func TestOneTimePasswordsFindAPlaceBesideACampaign(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(ratelimit.NewLocal(clock.System{}))
		for range 100 {
			_ = p.Pass(t.Context(), "gateway", 20, job.LabFlow(12))
		}
		for i := range 4 {
			if err := p.Pass(t.Context(), "gateway", 20, job.OTPFlow(12)); err != nil {
				t.Errorf("password %d: %v", i, err)
			}
		}
		var f *job.Failure
		if err := p.Pass(t.Context(), "gateway", 20, job.OTPFlow(12)); !errors.As(err, &f) || f.RetryAfter > time.Second {
			t.Errorf("the fifth in a second: %v", err)
		}
	})
}

// TestAnUrgentNoticeFindsAPlaceBesideACampaignAtASlowRate lets a campaign use all of its share of each rate. An urgent
// notice must still be sent.
func TestAnUrgentNoticeFindsAPlaceBesideACampaignAtASlowRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{2, 3, 4, 5, 20} {
		synctest.Test(t, func(t *testing.T) {
			p := pace.New(ratelimit.NewLocal(clock.System{}))
			for range 100 {
				_ = p.Pass(t.Context(), "gateway", rate, job.LabFlow(12))
			}
			if err := p.Pass(t.Context(), "gateway", rate, job.UrgentFlow(12)); err != nil {
				t.Errorf("%v a second: %v, want it to pass", rate, err)
			}
		})
	}
}

func TestWithoutARateEverythingPassesAndASlowRateIsCountedInSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(ratelimit.NewLocal(clock.System{}))
		for range 1000 {
			if err := p.Pass(t.Context(), "a", 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		if p, ended, _ := flood(t, 60, 0, 0.2, time.Minute); ended < 10 || ended > 13 {
			t.Errorf("%d in a minute, want one in 5 s; the last one after %v", ended, p.last[1])
		}
	})
}
