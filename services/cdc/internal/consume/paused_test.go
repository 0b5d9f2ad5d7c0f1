package consume

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// TestThePausedTimeNeverFalls checks that a partition revoked during a fault still counts in the paused time, because a
// decreasing counter would look like a restart.
func TestThePausedTimeNeverFalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStatus(clock.System{})
		claim := Claim{Topic: "t", Partition: 1}
		p := s.open(claim)
		p.fail(outcome.FaultOf(outcome.Retry(errors.New("away"))))
		time.Sleep(time.Second) // virtual time
		before := s.Paused()
		s.close(claim)
		if after := s.Paused(); before != time.Second || after != before {
			t.Errorf("paused %s, then %s", before, after)
		}
		s.close(claim)
		if after := s.Paused(); after != before {
			t.Errorf("paused %s when closed twice", after)
		}
	})
}
