package worker

import (
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// fill lets each flow take all it may, as long as any may take some.
func fill(s *slots, flows ...job.Flow) {
	for taken := true; taken; {
		taken = false
		for _, flow := range flows {
			taken = fillOnce(s, flow) || taken
		}
	}
}

func fillOnce(s *slots, flow job.Flow) bool {
	l := s.limits()
	most, known := l.Flows[flow]
	if !known && flow.Reserved() {
		most = l.EachReserved
	} else if !known {
		most = min(l.EachOrdinary, l.Ordinary)
	}
	taken := make([]engine.Leased, most)
	for i := range taken {
		taken[i].Flow = flow
	}
	s.take(taken)
	return most > 0
}

func TestEveryFlowFindsPlacesHoweverManyFlowsFlood(t *testing.T) {
	t.Parallel()
	s := newSlots(128)
	fill(s, job.LabFlow(1))
	if got := s.held[job.LabFlow(1)]; got != 75 {
		t.Errorf("one flow alone holds %d of 128 places", got)
	}
	fill(s, job.LabFlow(2))
	fill(s, job.LabFlow(3))
	if got := s.held[job.LabFlow(2)]; got != 25 {
		t.Errorf("the second flow holds %d", got)
	}
	if got := s.held[job.LabFlow(3)]; got != 8 {
		t.Errorf("the third flow holds %d", got)
	}
	for lab := range int64(50) {
		fill(s, job.LabFlow(lab))
	}
	fill(s, job.FlowPlatform)
	if got := s.held[job.FlowPlatform]; got < 8 {
		t.Errorf("the platform's own calls hold %d of the 16 reserved places", got)
	}
	for flow, n := range s.held {
		for range n {
			s.release(flow)
		}
	}
	if s.free != 128 || len(s.held) != 0 {
		t.Errorf("%d free, held %v", s.free, s.held)
	}
}
