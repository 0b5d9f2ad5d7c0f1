package worker

import (
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// reservedPart is the divisor of the slots for the part that ordinary flows may not use.
const reservedPart = 8

// greed is the maximum ratio of the slots held by one flow to the remaining free slots. A single flow can hold two
// thirds of the slots that it may use, and further flows always find some free slots.
const greed = 2

// limits returns how many of the free slots each flow may take. The caller holds mu.
func (s *Pool) limits() *engine.Limits {
	ordinary := s.total - s.total/reservedPart
	for flow, n := range s.held {
		if !flow.Reserved() {
			ordinary -= n
		}
	}
	ordinary = max(0, min(ordinary, s.free))
	l := &engine.Limits{Ordinary: ordinary, EachOrdinary: fairPart(ordinary, 0), EachReserved: fairPart(s.free, 0),
		Flows: make(map[job.Flow]int, len(s.held))}
	for flow, n := range s.held {
		free := ordinary
		if flow.Reserved() {
			free = s.free
		}
		l.Flows[flow] = fairPart(free, n)
	}
	return l
}

// fairPart returns how many free slots a flow with held slots may take, so that it holds at most greed times the
// remaining free slots.
func fairPart(free, holds int) int {
	return min(free, max(0, (greed*free-holds+greed)/(greed+1)))
}
