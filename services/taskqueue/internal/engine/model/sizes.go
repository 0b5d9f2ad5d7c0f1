package model

import (
	"context"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// FlowSizes counts the bytes of waiting jobs by flow.
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

// NoteFlowBytes and FlowBytes are for several processes: the double has one, which always leads.
func (m *Model) NoteFlowBytes(_ context.Context, sizes map[job.Flow]int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sizes = sizes
	return nil
}

// FlowBytes knows nothing.
func (m *Model) FlowBytes(context.Context) (map[job.Flow]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sizes, nil
}
