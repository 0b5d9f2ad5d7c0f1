// Package slots limits concurrent work so that no owner keeps all others out.
package slots

import "sync"

// share is the number of slots that an owner may use per free slot.
const share = 3

// Slots limits concurrent work. An owner gets a slot while it uses fewer than share times the free slots. A single
// owner can therefore use three quarters of all slots, and another one then finds a slot; with several owners, its part
// shrinks as its work ends. It is safe for concurrent use.
type Slots[Owner comparable] struct {
	mu    sync.Mutex
	free  int           // guarded by mu
	inUse map[Owner]int // guarded by mu; has no owners with 0
}

// New returns n free slots.
func New[Owner comparable](n int) *Slots[Owner] {
	return &Slots[Owner]{free: n, inUse: map[Owner]int{}}
}

// Take takes a slot for an owner; leave returns it. leave is nil if the owner gets none now.
func (s *Slots[Owner]) Take(o Owner) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse[o] >= share*s.free {
		return nil
	}
	s.free--
	s.inUse[o]++
	return func() { s.leave(o) }
}

func (s *Slots[Owner]) leave(o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.inUse[o]--; s.inUse[o] == 0 {
		delete(s.inUse, o)
	}
}
