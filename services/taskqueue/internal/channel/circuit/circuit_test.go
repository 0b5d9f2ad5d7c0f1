package circuit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const to = job.Destination("to:12 https://a.example.com:443 1")

func ill() circuit.Verdict  { return circuit.Verdict{Ill: true} }
func well() circuit.Verdict { return circuit.Verdict{Well: true} }

func TestWhatKeepsFailingIsLeftAloneByAllProcessesUntilOneOfThemTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		marks := enginetest.New(clock.System{}, engine.DefaultSettings())
		one, other := circuit.New(marks), circuit.New(marks)
		read := func() {
			if err := other.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if wait := one.Do(t.Context(), to, 2, ill); wait != 0 {
				t.Fatalf("a closed circuit waits %v", wait)
			}
		}
		read()
		<-time.After(10 * time.Second)
		for _, c := range []*circuit.Circuits{one, other} {
			if wait := c.Do(t.Context(), to, 2, well); wait != circuit.Open-10*time.Second || !c.Holds(to) {
				t.Errorf("ten seconds later it waits %v", wait)
			}
		}
		<-time.After(circuit.Open - 10*time.Second)
		var here, there time.Duration
		wait := one.Do(t.Context(), to, 2, func() circuit.Verdict {
			here, there = one.Do(t.Context(), to, 2, ill), other.Do(t.Context(), to, 2, ill)
			return circuit.Verdict{Well: true}
		})
		if wait != 0 || here != circuit.Open || there != circuit.Open {
			t.Errorf("the trial waits %v, another one here %v, in another process %v", wait, here, there)
		}
		if read(); one.Holds(to) || other.Holds(to) {
			t.Error("it is paused after it answered, want open")
		}
	})
}

func TestATrialThatFailsWaitsLongerAndLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := circuit.New(enginetest.New(clock.System{}, engine.DefaultSettings()))
		tries := 0
		begun := time.Now()
		for time.Since(begun) < time.Hour {
			if err := c.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.Do(t.Context(), to, 1, ill) == 0 {
				tries++
			}
			<-time.After(time.Second)
		}
		if tries < 20 || tries > 30 {
			t.Errorf("%d tries in an hour", tries)
		}
	})
}

func TestWhoAsksToBeLeftAloneIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := circuit.New(enginetest.New(clock.System{}, engine.DefaultSettings()))
		c.Do(t.Context(), to, 9, func() circuit.Verdict { return circuit.Verdict{Asked: 7 * time.Minute} })
		if wait := c.Do(t.Context(), to, 9, well); wait != 7*time.Minute {
			t.Errorf("it waits %v", wait)
		}
		c.Do(t.Context(), "to:other", 9, func() circuit.Verdict { return circuit.Verdict{Asked: 24 * time.Hour} })
		if wait := c.Do(t.Context(), "to:other", 9, well); wait != 15*time.Minute {
			t.Errorf("who asks for a day gets %v", wait)
		}
	})
}
