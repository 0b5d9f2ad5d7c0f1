package grpcserver

import (
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
)

// owner identifies whose calls share a limit: a laboratory, or a service that calls for all laboratories.
type owner struct {
	lab     int64
	service string
}

func ownerOf(p authn.Principal) owner { return owner{p.LabID, p.Caller} }

// share is the number of slots that an owner may use per free slot.
const share = 3

// slots limits concurrent calls. An owner gets a slot while it uses fewer than share times the free slots. A single
// owner can therefore use three quarters of all slots, and another one then finds a slot; with several owners, its part
// shrinks as its calls end.
type slots struct {
	mu    sync.Mutex
	free  int           // guarded by mu
	inUse map[owner]int // guarded by mu; has no owners with 0
}

func newSlots(n int) *slots { return &slots{free: n, inUse: map[owner]int{}} }

func (s *slots) enter(o owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse[o] >= share*s.free {
		return false
	}
	s.free--
	s.inUse[o]++
	return true
}

func (s *slots) leave(o owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.inUse[o]--; s.inUse[o] == 0 {
		delete(s.inUse, o)
	}
}
