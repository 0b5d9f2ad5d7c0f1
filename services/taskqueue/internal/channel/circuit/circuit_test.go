package circuit_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
)

func TestAnOpenCircuitTriesNothingThenLetsOneTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes []bool
		c := circuit.New(circuit.Settings{Failures: 2, Changed: func(isOpen bool) { changes = append(changes, isOpen) }})
		down := func() error { return errors.New("down") }
		for range 2 {
			if wait := c.Do(down); wait != 0 {
				t.Fatalf("a closed circuit waits %v", wait)
			}
		}
		<-time.After(10 * time.Second)
		if wait := c.Do(down); wait != circuit.Open-10*time.Second || !c.IsOpen() {
			t.Errorf("ten seconds later it waits %v", wait)
		}
		<-time.After(circuit.Open - 10*time.Second + time.Millisecond)
		var besides time.Duration
		wait := c.Do(func() error {
			besides = c.Do(down) // the one that tries has not ended yet
			return nil
		})
		if wait != 0 || besides != 500*time.Millisecond || c.IsOpen() || c.Failures() != 0 {
			t.Errorf("the trial waits %v, another one %v, open %t after it", wait, besides, c.IsOpen())
		}
		if len(changes) != 3 || !changes[0] || changes[2] {
			t.Errorf("changes %v", changes)
		}
	})
}
