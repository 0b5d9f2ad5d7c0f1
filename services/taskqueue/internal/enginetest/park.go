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

func (m *Model) Groups(_ context.Context, shard int) ([]engine.Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []engine.Group
	for g, jobs := range m.parked {
		for id := range jobs {
			if id.Shard() == shard {
				list = append(list, g)
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b engine.Group) int { return cmp.Compare(a.String(), b.String()) })
	return list, nil
}

func (m *Model) Unpark(_ context.Context, shard int, g engine.Group, most int) (went int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	ids := slices.SortedFunc(maps.Keys(m.parked[g]), func(a, b job.ID) int {
		return cmp.Or(cmp.Compare(m.parked[g][a], m.parked[g][b]), cmp.Compare(a, b))
	})
	for _, id := range ids {
		due, waits := m.lanes[id.Lane()][id]
		switch {
		case id.Shard() != shard:
			continue
		case went == most:
			return went, nil
		case waits && due == m.parked[g][id] && due > now:
			m.lanes[id.Lane()][id] = now
			went++
		}
		delete(m.parked[g], id)
	}
	return went, nil
}

func (m *Model) Holds(context.Context) (engine.Holds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return engine.Holds{NowMs: m.now(), Held: maps.Clone(m.held)}, nil
}

func (m *Model) Hold(_ context.Context, to job.Destination, d time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold(to, d)
	return nil
}

const longestHold = 3 * time.Minute

func (m *Model) hold(to job.Destination, d time.Duration) {
	now, mark := m.now(), m.held[to]
	if mark.SinceMs == 0 {
		mark.SinceMs = now
	}
	mark.UntilMs = now + max(d.Milliseconds(), min(longestHold.Milliseconds(), (now-mark.SinceMs)/4))
	m.held[to] = mark
}

func (m *Model) TryHeld(_ context.Context, to job.Destination, d time.Duration) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark, is := m.held[to]
	if left := mark.UntilMs - m.now(); left > 0 {
		return time.Duration(left) * time.Millisecond, nil
	}
	if is {
		m.hold(to, d)
	}
	return 0, nil
}

func (m *Model) FreeHeld(_ context.Context, to job.Destination) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, to)
	return nil
}
