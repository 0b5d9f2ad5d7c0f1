package pace_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// flood sends n deliveries that come back when they were told to, for a minute; it returns how many passed in each
// second and how often they asked in all.
func flood(t *testing.T, p *pace.Pacer, n int, perSecond float64) (passed map[int]int, asked int) {
	t.Helper()
	begun := time.Now()
	waiting := make([]time.Time, n)
	for i := range waiting {
		waiting[i] = begun
	}
	passed = map[int]int{}
	for time.Since(begun) < time.Minute {
		for i, at := range waiting {
			if at.IsZero() || time.Now().Before(at) {
				continue
			}
			asked++
			err := p.Pass(t.Context(), "receiver", perSecond, job.LabFlow(12))
			var f *job.Failure
			switch {
			case err == nil:
				passed[int(time.Since(begun)/time.Second)]++
				waiting[i] = time.Time{}
			case errors.As(err, &f) && f.Postponed:
				waiting[i] = time.Now().Add(f.RetryAfter)
			default:
				t.Fatal(err)
			}
		}
		<-time.After(10 * time.Millisecond)
	}
	return passed, asked
}

func TestADestinationGetsItsRateAndThePostponedComeBackInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(ratelimit.NewLocal(clock.System{}), clock.System{})
		passed, asked := flood(t, p, 400, 20)
		total := 0
		for second, n := range passed {
			total += n
			if n > 20 {
				t.Errorf("%d deliveries in second %d", n, second)
			}
		}
		if total != 400 || asked > 4*400 {
			t.Errorf("%d passed, asked %d times", total, asked)
		}
	})
}

func TestOneTimePasswordsFindAPlaceBesideACampaign(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(ratelimit.NewLocal(clock.System{}), clock.System{})
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

func TestWithoutARateEverythingPassesAndASlowRateIsCountedInSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(ratelimit.NewLocal(clock.System{}), clock.System{})
		for range 1000 {
			if err := p.Pass(t.Context(), "a", 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		passed, _ := flood(t, p, 60, 0.2)
		total := 0
		for _, n := range passed {
			total += n
		}
		if total < 11 || total > 13 {
			t.Errorf("%d in a minute, want one in 5 s", total)
		}
	})
}
