package worker

import (
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// reservedPart of the places is kept from ordinary flows.
const reservedPart = 8

// greed is how many times the places that stay free a flow may hold: alone it gets two thirds of the pool, and
// however many flows hold places, the next one finds some.
const greed = 2

// limits says what each flow may take of the free places; the caller holds mu.
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

// fairPart is how many of the free places a flow may take that holds some: afterwards it holds at most greed times
// what is still free.
func fairPart(free, holds int) int {
	return min(free, max(0, (greed*free-holds+greed)/(greed+1)))
}
