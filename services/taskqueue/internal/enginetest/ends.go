package enginetest

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (m *Model) noteEnd(id job.ID) {
	if !m.set.Archive {
		return
	}
	e := m.shardEnds(id.Shard())
	e.IDs = append(e.IDs, id)
}

func (m *Model) shardEnds(shard int) *engine.Ends {
	if m.ends[shard] == nil {
		m.ends[shard] = &engine.Ends{}
	}
	return m.ends[shard]
}

func (m *Model) OldestEnds(_ context.Context, shard, most int) (engine.Ends, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.shardEnds(shard)
	return engine.Ends{Forgotten: e.Forgotten, IDs: slices.Clone(e.IDs[:min(most, len(e.IDs))])}, nil
}

func (m *Model) HowEnded(_ context.Context, ids []job.ID) ([]engine.Ended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]engine.Ended, len(ids))
	for i, id := range ids {
		_, dead := m.dead[id]
		list[i] = engine.Ended{ID: id, Record: m.records[id], Dead: dead}
	}
	return list, nil
}

func (m *Model) TrimEnds(_ context.Context, shard int, observed engine.Ends) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.shardEnds(shard)
	if e.Forgotten != observed.Forgotten || len(observed.IDs) == 0 {
		return false, nil
	}
	e.Forgotten += int64(len(observed.IDs))
	e.IDs = e.IDs[len(observed.IDs):]
	return true, nil
}

func (m *Model) ForgetResults(_ context.Context, ids []job.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if _, dead := m.dead[id]; !dead {
			delete(m.records, id)
		}
	}
	return nil
}

// Lead makes every caller the leader.
func (m *Model) Lead(context.Context, int, string, time.Duration) (int64, error) {
	return 1, nil
}
