package enginetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (m *Model) Browse(_ context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	low, high := x.Bounds()
	var list []engine.Member
	for id, score := range m.members(x) {
		one := engine.Member{ID: id, Score: score, Time: x.TimeOf(score)}
		if id.Shard() == x.Shard && score >= low && score <= high && byScore(one, after) > 0 {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, byScore)
	return list[:min(most, len(list))], nil
}

func byScore(a, b engine.Member) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID))
}

func (m *Model) members(x engine.Range) map[job.ID]int64 {
	list := map[job.ID]int64{}
	switch x.List {
	case engine.ListLane:
		for id, due := range m.lanes[x.Lane] {
			list[id] = m.flows[id].Base() + due
		}
	case engine.ListLeases:
		for id, token := range m.leases {
			if id.Lane().Channel == x.Lane.Channel {
				list[id] = token
			}
		}
	case engine.ListDead:
		for id, died := range m.dead {
			if x.Flow == engine.AllFlows {
				list[id] = died
			} else if m.flows[id] == x.Flow {
				list[id] = x.Flow.Base() + died
			}
		}
	}
	return list
}

func (m *Model) Ahead(_ context.Context, shard int, l job.Lane, first time.Time, hours int) (engine.Ahead, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := engine.Ahead{Hours: make([]int64, hours)}
	for id, due := range m.lanes[l] {
		hour := max(0, (due-first.UnixMilli())/time.Hour.Milliseconds())
		switch {
		case id.Shard() != shard || due <= m.now():
		case hour < int64(hours):
			a.Hours[hour]++
		default:
			a.Later++
		}
	}
	return a, nil
}

// Pause stores the pause. It only affects callers that read Paused.
func (m *Model) Pause(_ context.Context, t engine.Target, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.paused[t]; !known {
		m.paused[t] = at
	}
	return nil
}

func (m *Model) Resume(_ context.Context, t engine.Target) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.paused, t)
	return nil
}

func (m *Model) Paused(context.Context, int) (map[engine.Target]time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.paused), nil
}

// Memory returns 0, like a Redis without a memory limit.
func (m *Model) Memory(context.Context) (float64, error) { return 0, nil }

// FlowSizes returns exact numbers, not estimates.
func (m *Model) FlowSizes(_ context.Context, shard, least int) (map[job.Flow]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sizes := map[job.Flow]int64{}
	for _, l := range job.Lanes() {
		bytes, jobs := map[job.Flow]int64{}, map[job.Flow]int{}
		for id := range m.lanes[l] {
			if id.Shard() == shard {
				bytes[m.flows[id]] += int64(len(m.bodies[id]))
				jobs[m.flows[id]]++
			}
		}
		for flow, n := range jobs {
			if n >= max(1, least) {
				sizes[flow] += bytes[flow]
			}
		}
	}
	return sizes, nil
}

// NoteFlowBytes stores sizes for FlowBytes. They do not expire.
func (m *Model) NoteFlowBytes(_ context.Context, sizes map[job.Flow]int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sizes = sizes
	return nil
}

func (m *Model) FlowBytes(context.Context) (map[job.Flow]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sizes, nil
}
