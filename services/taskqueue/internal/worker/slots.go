package worker

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// slots counts free places of the pool, and which flows hold the others, and wakes who waits for them.
type slots struct {
	total int

	mu     sync.Mutex // guards the fields below
	free   int
	target int              // so many free places wake waitFreed
	held   map[job.Flow]int // places by flow; none is zero
	change chan struct{}    // closed and replaced when a place gets free
}

func newSlots(total int) *slots {
	return &slots{total: total, free: total, held: map[job.Flow]int{}, change: make(chan struct{})}
}

func (s *slots) take(jobs []engine.Leased) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free -= len(jobs)
	for i := range jobs {
		s.held[jobs[i].Flow]++
	}
}

func (s *slots) release(flow job.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.held[flow]--; s.held[flow] <= 0 {
		delete(s.held, flow)
	}
	if s.free == 1 || s.free == s.quarter() || s.free == s.total || s.free == s.target { // what somebody may wait for
		close(s.change)
		s.change = make(chan struct{})
	}
}

func (s *slots) quarter() int { return (s.total + 3) / 4 }

func (s *slots) state() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free, s.change
}

// quarterPatience is how long a claim waits for a quarter of the places when fewer are free: slow deliveries must
// not keep the others from running.
const quarterPatience = 20 * time.Millisecond

// waitQuarter returns the free places once at least a quarter is free (so claims stay large), or after a little
// patience when any is, 0 when ctx ends.
func (s *slots) waitQuarter(ctx context.Context) int {
	for ctx.Err() == nil {
		free, change := s.state()
		if free >= s.quarter() {
			return free
		}
		if free == 0 {
			select {
			case <-change:
			case <-ctx.Done():
			}
			continue
		}
		timer := time.NewTimer(quarterPatience)
		select {
		case <-change:
		case <-ctx.Done():
		case <-timer.C:
			free, _ = s.state()
			return free
		}
		timer.Stop()
	}
	return 0
}

// waitFreed returns when a quarter of the places got free since now (so claims stay large), or after patience.
func (s *slots) waitFreed(ctx context.Context, patience time.Duration) {
	s.mu.Lock()
	s.target = s.free + s.quarter()
	change := s.change
	s.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-change:
	case <-timer.C:
	case <-ctx.Done():
	}
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
