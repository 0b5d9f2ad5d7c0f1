package worker

import (
	"context"
	"sync"
	"time"
)

// slots counts free places of the pool and wakes who waits for them.
type slots struct {
	total int

	mu     sync.Mutex // guards free and change
	free   int
	change chan struct{} // closed and replaced when a place gets free
}

func newSlots(total int) *slots {
	return &slots{total: total, free: total, change: make(chan struct{})}
}

func (s *slots) take(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free -= n
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.free == s.total || s.free*4 >= s.total {
		close(s.change)
		s.change = make(chan struct{})
	}
}

func (s *slots) state() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free, s.change
}

// waitQuarter returns the free places once at least a quarter is free (so claims stay large), 0 when ctx ends.
func (s *slots) waitQuarter(ctx context.Context) int {
	for ctx.Err() == nil {
		free, change := s.state()
		if free > 0 && free*4 >= s.total {
			return free
		}
		select {
		case <-change:
		case <-ctx.Done():
		}
	}
	return 0
}

// waitAll reports whether all places got free within d.
func (s *slots) waitAll(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		free, change := s.state()
		if free >= s.total {
			return true
		}
		select {
		case <-change:
		case <-timer.C:
			free, _ = s.state()
			return free >= s.total
		}
	}
}
