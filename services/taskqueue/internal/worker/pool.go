package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Pool holds the slots of a channel. The fetchers of all shards share it, so that the slots of a flow on other shards
// count too. It lets the fetchers claim in turn and wakes fetchers that wait for slots.
type Pool struct {
	total  int
	turn   chan struct{} // held by the fetcher that is claiming
	leaked atomic.Int64  // handlers that are still running although their lease ended and their slot was returned

	mu     sync.Mutex // guards the fields below
	pumps  int
	free   int
	given  int              // total number of slots returned by handlers
	target int              // value of given at which waitFreed is woken
	held   map[job.Flow]int // slots in use by flow; zero entries are removed
	change *sync.Cond       // uses mu; signals free slots
}

// NewPool returns a pool with the given number of free slots.
func NewPool(places int) *Pool {
	s := &Pool{total: places, turn: make(chan struct{}, 1), free: places, held: map[job.Flow]int{}}
	s.change = sync.NewCond(&s.mu)
	return s
}

func (s *Pool) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pumps++
}

// claimTurn is how long a claim blocks the claims of other shards. If a claim takes longer, because its Redis node does
// not respond, it keeps its slots and the others continue.
const claimTurn = 100 * time.Millisecond

// reservation holds the slots of one claim until take is called.
type reservation struct {
	pool    *Pool
	places  int
	limits  *engine.Limits
	timer   *time.Timer
	endTurn func()
}

// reserve waits for its turn and takes up to most free slots. If there are several fetchers, it takes at most half of
// the free ones, so that an unresponsive node leaves slots to the others. It returns nil if no slot is free or ctx has
// ended.
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

// take assigns slots to the claimed jobs and returns the rest to the pool.
func (r *reservation) take(jobs []engine.Leased) {
	s := r.pool
	s.mu.Lock()
	for i := range jobs {
		s.held[jobs[i].Flow]++
	}
	if left := r.places - len(jobs); left > 0 {
		s.free += left
		s.change.Broadcast()
	}
	s.mu.Unlock()
	r.timer.Stop()
	r.endTurn()
}

func (s *Pool) release(flow job.Flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.given++
	if s.held[flow]--; s.held[flow] <= 0 {
		delete(s.held, flow)
	}
	if s.free == 1 || s.free == s.quarter() || s.free == s.total || s.given == s.target { // a waiter may be ready
		s.change.Broadcast()
	}
}

func (s *Pool) quarter() int { return (s.total + 3) / 4 }

// await returns true once ready returns true. It calls ready with mu held whenever slots become free. It returns false
// if ctx ends first.
func (s *Pool) await(ctx context.Context, ready func() bool) bool {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !ready() {
		if ctx.Err() != nil {
			return false
		}
		s.change.Wait()
	}
	return true
}

// quarterPatience is how long a claim waits for a quarter of the slots if fewer are free. It is short, so that slow
// deliveries do not delay the others.
const quarterPatience = 20 * time.Millisecond

// waitQuarter returns true once at least a quarter of the slots is free, which keeps claims large, or once
// quarterPatience has passed and any slot is free. It returns false if ctx ends.
func (s *Pool) waitQuarter(ctx context.Context) bool {
	for s.await(ctx, func() bool { return s.free > 0 }) {
		free := 0
		patience, cancel := context.WithTimeout(ctx, quarterPatience)
		s.await(patience, func() bool {
			free = s.free
			return free == 0 || free >= s.quarter()
		})
		cancel()
		if free > 0 || ctx.Err() != nil {
			return ctx.Err() == nil
		}
	}
	return false
}

// waitFreed returns when handlers have returned a quarter of the slots since the call, which keeps claims large, or
// after patience. Slots that another claim reserved but did not use are not counted; otherwise claims of flows at their
// limits would wake each other endlessly.
func (s *Pool) waitFreed(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	want := 0
	s.await(ctx, func() bool {
		if want == 0 {
			want = s.given + s.quarter()
		}
		if s.target <= s.given || want < s.target {
			s.target = want
		}
		return s.given >= want
	})
}

// waitAll reports whether all slots became free within d.
func (s *Pool) waitAll(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return s.await(ctx, func() bool { return s.free >= s.total })
}
