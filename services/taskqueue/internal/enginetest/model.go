// Package enginetest is an in-memory fake of the engine, with the same operations and errors on maps under one mutex.
// It is the reference in the property test, and the engine in tests without Redis. Nothing is durable.
package enginetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const modelPoll = 20 * time.Millisecond

// Model is a queue in memory. It is safe for concurrent use.
type Model struct {
	clock clock.Clock
	set   engine.Settings

	mu       sync.Mutex // guards the fields below
	lanes    map[job.Lane]map[job.ID]int64
	leases   map[job.ID]int64
	bodies   map[job.ID][]byte
	records  map[job.ID][]byte
	dead     map[job.ID]int64
	counters map[job.ID]int64
	renewed  map[job.ID]int64
	cancels  map[job.ID]bool
	intents  map[job.ID]string
	ends     map[int]*engine.Ends // archive queues by shard
	flows    map[job.ID]job.Flow  // flow of each waiting or dead job
	idem     map[string]idemRecord
	windows  map[string]window
	claimers map[string]int64 // token of each claimer's last claim
	lost     map[int64]bool   // tokens of claims whose replies were lost
	claims   int64
	sizes    map[job.Flow]int64
	begun    map[job.Lane]int64
	attempts map[job.Channel]int64
	faults   map[job.Channel]int64

	paused map[engine.Target]time.Time
	held   map[job.Destination]engine.Held
	parked map[engine.Group]map[job.ID]int64 // parked jobs of each group, with the due time for which each was parked
}

// window holds the job that further tasks join, and the time at which the window is deleted.
type window struct {
	id      job.ID
	expires int64
}

type idemRecord struct {
	hash    string
	ids     []job.ID
	expires time.Time
}

// New returns an empty queue that reads the time from clk.
func New(clk clock.Clock, set engine.Settings) *Model {
	m := &Model{
		clock:    clk,
		set:      set,
		lanes:    map[job.Lane]map[job.ID]int64{},
		leases:   map[job.ID]int64{},
		bodies:   map[job.ID][]byte{},
		records:  map[job.ID][]byte{},
		dead:     map[job.ID]int64{},
		counters: map[job.ID]int64{},
		renewed:  map[job.ID]int64{},
		cancels:  map[job.ID]bool{},
		intents:  map[job.ID]string{},
		idem:     map[string]idemRecord{},
		windows:  map[string]window{},
		claimers: map[string]int64{},
		lost:     map[int64]bool{},
		flows:    map[job.ID]job.Flow{},
		begun:    map[job.Lane]int64{},
		attempts: map[job.Channel]int64{},
		faults:   map[job.Channel]int64{},
		ends:     map[int]*engine.Ends{},

		paused: map[engine.Target]time.Time{},
		held:   map[job.Destination]engine.Held{},
		parked: map[engine.Group]map[job.ID]int64{},
	}
	for _, l := range job.Lanes() {
		m.lanes[l] = map[job.ID]int64{}
	}
	return m
}

func (m *Model) Lease() time.Duration { return m.set.Lease }

func (m *Model) now() int64 { return m.clock.Now().UnixMilli() }

func (m *Model) Enqueue(_ context.Context, b engine.Batch) (engine.Accepted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.idem[b.IdempotencyKey]; ok && m.clock.Now().Before(old.expires) {
		if old.hash != b.RequestHash {
			return engine.Accepted{}, engine.ErrConflict
		}
		return engine.Accepted{IDs: slices.Clone(old.ids), Replay: true}, nil
	}
	ids, err := m.planBatch(b)
	if err != nil {
		return engine.Accepted{}, err
	}
	now := m.now()
	for i, j := range b.Jobs {
		m.addJob(j, ids[i], max(j.DueMs, now))
	}
	m.idem[b.IdempotencyKey] = idemRecord{hash: b.RequestHash, ids: ids, expires: m.clock.Now().Add(b.KeepKey)}
	return engine.Accepted{IDs: slices.Clone(ids)}, nil
}

// ReserveKey does nothing, because the fake has all idempotency keys in one place.
func (m *Model) ReserveKey(context.Context, int, string, string, time.Duration) error { return nil }

func (m *Model) planBatch(b engine.Batch) ([]job.ID, error) {
	ids := make([]job.ID, len(b.Jobs))
	added, fresh := map[job.Lane]int{}, map[job.Lane]map[job.Flow]int{}
	for i, j := range b.Jobs {
		ids[i] = j.ID
		if w := j.Window; w != nil {
			current := m.windowJob(w.Key)
			if w.Override && current != w.Seen {
				return nil, engine.ErrWindowChanged
			}
			if _, waits := m.lanes[j.ID.Lane()][current]; waits {
				ids[i] = current
				continue
			}
		}
		added[j.ID.Lane()]++
		if fresh[j.ID.Lane()] == nil {
			fresh[j.ID.Lane()] = map[job.Flow]int{}
		}
		fresh[j.ID.Lane()][j.Flow]++
	}
	for lane, n := range added {
		if len(m.lanes[lane])+n > m.laneLimit(fresh[lane]) {
			return nil, engine.ErrLaneFull
		}
	}
	for lane, flows := range fresh {
		for flow, n := range flows {
			if flow > job.FlowPlatform && m.waiting(lane, flow)+n > m.flowLimit(b, flow) {
				return nil, engine.ErrFlowFull
			}
		}
	}
	return ids, nil
}

// laneLimit returns how many jobs a lane may hold. A sixteenth is reserved, so batches with ordinary flows get less.
func (m *Model) laneLimit(fresh map[job.Flow]int) int {
	for flow := range fresh {
		if !flow.Reserved() {
			return m.set.LaneLimit - m.set.LaneLimit/16
		}
	}
	return m.set.LaneLimit
}

func (m *Model) flowLimit(b engine.Batch, flow job.Flow) int {
	switch {
	case b.Full:
		return 0
	case flow.Reserved():
		return (m.set.FlowLimit + 99) / 100
	}
	return m.set.FlowLimit
}

func (m *Model) waiting(lane job.Lane, flow job.Flow) (n int) {
	for id := range m.lanes[lane] {
		if m.flows[id] == flow {
			n++
		}
	}
	return n
}

func (m *Model) addJob(j engine.NewJob, id job.ID, due int64) {
	joined := j.Window != nil && id != j.ID
	if joined && !j.Window.Override {
		return
	}
	if j.Window != nil {
		m.windows[j.Window.Key] = window{id: id, expires: due + m.set.WindowKeepAfter.Milliseconds()}
	}
	m.bodies[id] = j.Body
	m.lanes[id.Lane()][id] = due
	if !joined {
		m.flows[id] = j.Flow
	}
}

func (m *Model) LookupWindow(_ context.Context, _ int, key string) (job.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.windowJob(key), nil
}

// windowJob returns the job of an unexpired window; empty if there is none.
func (m *Model) windowJob(key string) job.ID {
	if w := m.windows[key]; w.expires > m.now() {
		return w.id
	}
	return ""
}

// leaveWindow deletes the window of this job, so that no further task joins the job.
func (m *Model) leaveWindow(key string, id job.ID) {
	if key != "" && m.windowJob(key) == id {
		delete(m.windows, key)
	}
}

// WaitBell waits at most 20 ms, because the fake has no wake-ups and its users poll.
func (m *Model) WaitBell(ctx context.Context, _ int, _ job.Channel, d time.Duration) error {
	timer := time.NewTimer(min(d, modelPoll))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
