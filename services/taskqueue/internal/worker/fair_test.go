package worker

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// fill lets each flow take as much as it may, until no flow may take more.
func fill(s *Pool, flows ...job.Flow) {
	for taken := true; taken; {
		taken = false
		for _, flow := range flows {
			taken = fillOnce(s, flow) || taken
		}
	}
}

func fillOnce(s *Pool, flow job.Flow) bool {
	places := s.reserve(context.Background(), s.total)
	if places == nil {
		return false
	}
	l := places.limits
	most, known := l.Flows[flow]
	if !known && flow.Reserved() {
		most = l.EachReserved
	} else if !known {
		most = min(l.EachOrdinary, l.Ordinary)
	}
	taken := make([]engine.Leased, min(most, places.places))
	for i := range taken {
		taken[i].Flow = flow
	}
	places.take(taken)
	return len(taken) > 0
}

func TestEveryFlowFindsPlacesHoweverManyFlowsFlood(t *testing.T) {
	t.Parallel()
	s := NewPool(128)
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

func TestASlowShardLeavesPlacesAndTurnsToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewPool(32)
		s.join()
		s.join()
		begun := time.Now()
		slow := s.reserve(t.Context(), maxClaim)
		other := s.reserve(t.Context(), maxClaim)
		if slow.places != 16 || other.places != 8 || time.Since(begun) != claimTurn {
			t.Errorf("%d and %d places after %v", slow.places, other.places, time.Since(begun))
		}
		other.take([]engine.Leased{{Flow: job.LabFlow(1)}})
		slow.take(nil)
		if s.free != 31 || s.held[job.LabFlow(1)] != 1 {
			t.Errorf("%d free, held %v", s.free, s.held)
		}
	})
}

// TestAFlowsPlacesAreCountedOverAllShards checks that a flow gets the same share of the slots on one shard as on many.
func TestAFlowsPlacesAreCountedOverAllShards(t *testing.T) {
	t.Parallel()
	s := NewPool(128)
	for range 16 {
		s.join()
	}
	fill(s, job.LabFlow(1))
	if got := s.held[job.LabFlow(1)]; got != 75 {
		t.Errorf("one flow holds %d of 128 places, with one shard it is 75", got)
	}
	fill(s, job.LabFlow(2))
	if got := s.held[job.LabFlow(2)]; got != 25 {
		t.Errorf("the second flow holds %d, with one shard it is 25", got)
	}
}

// TestWhoWaitsForPlacesIsWokenByTheseAlone: one laboratory is at its limit on all shards. Claims that find nothing must
// not wake fetchers that wait for its slots, because these would claim again as fast as Redis responds.
func TestWhoWaitsForPlacesIsWokenByTheseAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, flow := NewPool(128), job.LabFlow(1)
		s.join()
		s.join()
		fill(s, flow)
		waits := func(meanwhile func()) time.Duration {
			begun := time.Now()
			go func() {
				<-time.After(quarterPatience / 2)
				meanwhile()
			}()
			s.waitFreed(t.Context(), quarterPatience)
			return time.Since(begun)
		}
		if took := waits(func() { s.reserve(t.Context(), maxClaim).take(nil) }); took != quarterPatience {
			t.Errorf("woken after %v by places that no one held", took)
		}
		if took := waits(func() {
			for range s.quarter() {
				s.release(flow)
			}
		}); took != quarterPatience/2 {
			t.Errorf("woken after %v although a quarter of the places got free", took)
		}
	})
}

// TestThePatienceForAQuarterOfThePlacesIsNotBegunAnew checks that a claim starts after quarterPatience if few slots are
// free, even while others check the slots all the time.
func TestThePatienceForAQuarterOfThePlacesIsNotBegunAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewPool(32)
		fill(s, job.FlowPlatform)
		for s.free > 4 {
			s.reserve(t.Context(), 1).take([]engine.Leased{{Flow: job.LabFlow(1)}})
		}
		var others sync.WaitGroup
		others.Go(func() {
			for range 20 {
				<-time.After(quarterPatience / 4)
				s.reserve(t.Context(), 1).take(nil)
			}
		})
		begun := time.Now()
		if !s.waitQuarter(t.Context()) || time.Since(begun) != quarterPatience {
			t.Errorf("waited %v", time.Since(begun))
		}
		others.Wait()
	})
}
