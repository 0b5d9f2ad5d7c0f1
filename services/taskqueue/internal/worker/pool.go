package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Pool holds the places of a channel, which the pumps of all shards share: whatever a flow has on other shards counts.
// It knows which flows hold places, gives the pumps turns to claim, and wakes who waits for places.
type Pool struct {
	total  int
	turn   chan struct{} // held by the pump that claims
	leaked atomic.Int64  // handlers that outlived their lease and whose place was given back

	mu     sync.Mutex // guards the fields below
	pumps  int
	free   int
	target int              // so many free places wake waitFreed
	held   map[job.Flow]int // places by flow; none is zero
	change chan struct{}    // closed and replaced when places get free
}

// NewPool makes a pool of free places.
func NewPool(places int) *Pool {
	return &Pool{
		total:  places,
		turn:   make(chan struct{}, 1),
		free:   places,
		held:   map[job.Flow]int{},
		change: make(chan struct{}),
	}
}

func (s *Pool) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pumps++
}

// claimTurn is how long a claim keeps those of other shards waiting. One that takes longer, because its node does not
// answer, keeps its places and lets the others go on.
const claimTurn = 100 * time.Millisecond

// reservation is the places of one claim, until take says what became of them.
type reservation struct {
	pool    *Pool
	places  int
	limits  *engine.Limits
	timer   *time.Timer
	endTurn func()
}

// reserve waits for its turn and takes up to most free places. One of several pumps takes at most half of what is free,
// so that a node that does not answer leaves places to the others. No places: nil, ask again.
func (s *Pool) reserve(ctx context.Context, most int) *reservation {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	r := &reservation{pool: s, endTurn: sync.OnceFunc(func() { <-s.turn })}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.limits = s.limits()
	r.places = min(s.free, most)
	if s.pumps > 1 {
		r.places = min(r.places, (s.free+1)/2)
	}
	if r.places == 0 {
		r.endTurn()
		return nil
	}
	s.free -= r.places
	r.timer = time.AfterFunc(claimTurn, r.endTurn)
	return r
}

// take gives the places to the claimed jobs and what is left back to the pool.
func (r *reservation) take(jobs []engine.Leased) {
	s := r.pool
	s.mu.Lock()
	for i := range jobs {
		s.held[jobs[i].Flow]++
	}
	if left := r.places - len(jobs); left > 0 {
		s.free += left
		s.wake()
	}
	s.mu.Unlock()
	r.timer.Stop()
	r.endTurn()
}

// wake lets everybody look who waits for places; the caller holds mu.
func (s *Pool) wake() {
	close(s.change)
	s.change = make(chan struct{})
}

func (s *Pool) release(flow job.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.held[flow]--; s.held[flow] <= 0 {
		delete(s.held, flow)
	}
	if s.free == 1 || s.free == s.quarter() || s.free == s.total || s.free == s.target { // what somebody may wait for
		s.wake()
	}
}

func (s *Pool) quarter() int { return (s.total + 3) / 4 }

func (s *Pool) state() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free, s.change
}

// quarterPatience is how long a claim waits for a quarter of the places when fewer are free: slow deliveries must
// not keep the others from running.
const quarterPatience = 20 * time.Millisecond

// waitQuarter returns once at least a quarter of the places is free (so claims stay large), or after a little patience
// when any is; false when ctx ends.
func (s *Pool) waitQuarter(ctx context.Context) bool {
	for ctx.Err() == nil {
		free, change := s.state()
		if free >= s.quarter() {
			return true
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
			return true
		}
		timer.Stop()
	}
	return false
}

// waitFreed returns when a quarter of the places got free since now (so claims stay large), or after patience.
func (s *Pool) waitFreed(ctx context.Context, patience time.Duration) {
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
func (s *Pool) waitAll(d time.Duration) bool {
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
