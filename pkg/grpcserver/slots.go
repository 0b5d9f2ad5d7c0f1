package grpcserver

import (
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
)

// owner is whose calls are counted together: a laboratory's, or a service's that calls for all of them.
type owner struct {
	lab     int64
	service string
}

func ownerOf(p authn.Principal) owner { return owner{p.LabID, p.Caller} }

// share is how many slots an owner may have for each that is free.
const share = 3

// slots are places for calls that are worked on at once. An owner gets one as long as it has fewer than share for each
// that is free: alone it gets three quarters of all, and whatever it asks for, others find room. With others there, its
// part shrinks as its calls end.
type slots struct {
	mu   sync.Mutex
	free int           // guarded by mu
	held map[owner]int // guarded by mu; without owners that hold none
}

func newSlots(n int) *slots { return &slots{free: n, held: map[owner]int{}} }

func (s *slots) enter(o owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[o] >= share*s.free {
		return false
	}
	s.free--
	s.held[o]++
	return true
}

func (s *slots) leave(o owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.held[o]--; s.held[o] == 0 {
		delete(s.held, o)
	}
}
