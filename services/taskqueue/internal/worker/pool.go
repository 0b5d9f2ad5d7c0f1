package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
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
	given  int              // how many places handlers gave back, ever
	target int              // when it is that many, waitFreed is woken
	held   map[job.Flow]int // places by flow; none is zero
	change *sync.Cond       // of mu: places got free
}

// NewPool makes a pool of free places.
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

// claimTurn is how long a claim keeps those of other shards waiting. One that takes longer, because its node does not
// answer, keeps its places and lets the others continue.
const claimTurn = 100 * time.Millisecond

// reservation is the places of one claim, until take says the outcome of them.
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
	if s.free == 1 || s.free == s.quarter() || s.free == s.total || s.given == s.target { // what someone may wait for
		s.change.Broadcast()
	}
}

func (s *Pool) quarter() int { return (s.total + 3) / 4 }

// await returns once ready returns true, which is called under the lock whenever places get free; false when ctx ends
// before.
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

// quarterPatience is how long a claim waits for a quarter of the places when fewer are free: slow deliveries must
// not keep the others from running.
const quarterPatience = 20 * time.Millisecond

// waitQuarter returns once at least a quarter of the places is free (so claims stay large), or after a little patience
// when any is; false when ctx ends.
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

// waitFreed returns when handlers gave a quarter of the places back since now (so claims stay large), or after
// patience. Places that another claim asked for and did not need are none of them: claims of flows at their limits
// would wake one another without end.
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

// waitAll reports whether all places got free within d.
func (s *Pool) waitAll(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return s.await(ctx, func() bool { return s.free >= s.total })
}
