package enginetest

import (
	"bytes"
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (m *Model) Cancel(_ context.Context, list []engine.Cancellation) ([]engine.Cancelled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answers := make([]engine.Cancelled, len(list))
	for i := range list {
		answers[i] = m.cancelOne(&list[i])
	}
	return answers, nil
}

func (m *Model) cancelOne(c *engine.Cancellation) engine.Cancelled {
	if _, waits := m.lanes[c.ID.Lane()][c.ID]; waits {
		delete(m.lanes[c.ID.Lane()], c.ID)
		delete(m.bodies, c.ID)
		delete(m.counters, c.ID)
		delete(m.cancels, c.ID)
		m.records[c.ID] = c.Record
		m.noteEnd(c.ID)
		m.bear(c.Callbacks)
		return engine.CancelDone
	}
	if _, runs := m.leases[c.ID]; runs {
		m.cancels[c.ID] = true
		return engine.CancelRequested
	}
	record, ended := m.records[c.ID]
	switch {
	case !ended:
		return engine.CancelNotFound
	case bytes.Equal(record, c.Record):
		return engine.CancelDone
	default:
		return engine.CancelFinished
	}
}

func (m *Model) Reschedule(_ context.Context, x engine.Move) (engine.Moved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lane := m.lanes[x.ID.Lane()]
	if _, waits := lane[x.ID]; waits {
		if body := m.bodies[x.ID]; !bytes.Equal(body, x.Observed) && !bytes.Equal(body, x.Body) {
			return engine.MoveChanged, nil
		}
		due := max(x.DueMs, m.now())
		lane[x.ID], m.bodies[x.ID] = due, x.Body
		if x.Window != "" && m.windowJob(x.Window) == x.ID {
			m.windows[x.Window] = window{id: x.ID, expires: due + m.set.WindowKeepAfter.Milliseconds()}
		}
		return engine.MoveDone, nil
	}
	_, runs := m.leases[x.ID]
	_, ended := m.records[x.ID]
	if runs || ended {
		return engine.MoveTooLate, nil
	}
	return engine.MoveNotFound, nil
}

func (m *Model) RetryFailed(_ context.Context, list []engine.Revival, delay time.Duration) ([]bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answers := make([]bool, len(list))
	for i := range list {
		answers[i] = m.revive(&list[i], delay)
	}
	return answers, nil
}

func (m *Model) revive(x *engine.Revival, delay time.Duration) bool {
	if _, dead := m.dead[x.ID]; !dead {
		_, waits := m.lanes[x.ID.Lane()][x.ID]
		return waits && bytes.Equal(m.bodies[x.ID], x.Body)
	}
	if !bytes.Equal(m.records[x.ID], x.Observed) {
		return false
	}
	delete(m.dead, x.ID)
	delete(m.records, x.ID)
	delete(m.counters, x.ID)
	m.bodies[x.ID] = x.Body
	m.lanes[x.ID.Lane()][x.ID] = m.now() + delay.Milliseconds()
	m.flows[x.ID] = job.FlowOf(x.Body)
	m.leaveWindow(x.Window, x.ID)
	return true
}

func (m *Model) Info(_ context.Context, ids []job.ID) ([]engine.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]engine.Snapshot, len(ids))
	for i, id := range ids {
		s := engine.Snapshot{
			ID:              id,
			NowMs:           m.now(),
			Body:            m.bodies[id],
			ClaimedMs:       m.renewed[id],
			CancelRequested: m.cancels[id],
		}
		if due, waits := m.lanes[id.Lane()][id]; waits {
			s.Place, s.DueMs = engine.PlaceLane, due
		} else if token, runs := m.leases[id]; runs {
			s.Place, s.DeadlineMs = engine.PlaceLease, token/1000
		} else if record, ended := m.records[id]; ended {
			s.Place, s.Record = engine.PlaceResult, record
		}
		list[i] = s
	}
	return list, nil
}

// DeadParts returns exact numbers, not estimates.
func (m *Model) DeadParts(_ context.Context, shard int) (map[job.Flow]engine.Part, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parts := map[job.Flow]engine.Part{}
	for id := range m.dead {
		if id.Shard() == shard {
			p := parts[m.flows[id]]
			parts[m.flows[id]] = engine.Part{Jobs: p.Jobs + 1, Bytes: p.Bytes + int64(len(m.bodies[id]))}
		}
	}
	return parts, nil
}

func (m *Model) TrimDead(_ context.Context, _ int, list []engine.Member) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var went int64
	for _, d := range list {
		if died, dead := m.dead[d.ID]; dead && died == d.Time {
			delete(m.dead, d.ID)
			delete(m.records, d.ID)
			delete(m.bodies, d.ID)
			went++
		}
	}
	return went, nil
}

func (m *Model) Depths(_ context.Context, shard int) (engine.Depths, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := engine.Depths{Ends: int64(len(m.shardEnds(shard).IDs))}
	for id := range m.dead {
		if id.Shard() == shard {
			all.Dead++
		}
	}
	for _, l := range job.Lanes() {
		d := engine.Depth{Lane: l, Begun: m.begun[l], Attempts: m.attempts[l.Channel], Faults: m.faults[l.Channel]}
		for id, due := range m.lanes[l] {
			if id.Shard() == shard {
				d.Waiting++
				if due <= m.now() {
					d.Ready++
				}
				d.OldestMs = max(d.OldestMs, m.now()-due)
			}
		}
		for id := range m.leases {
			if id.Shard() == shard && id.Lane().Channel == l.Channel {
				d.Running++
			}
		}
		all.Lanes = append(all.Lanes, d)
	}
	return all, nil
}

func (m *Model) Resolve(_ context.Context, x engine.Resolution) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, dead := m.dead[x.ID]
	if !dead || !bytes.Equal(m.records[x.ID], x.Observed) {
		record, ended := m.records[x.ID]
		return ended && bytes.Equal(record, x.Record), nil
	}
	m.records[x.ID] = x.Record
	if x.Sent {
		delete(m.dead, x.ID)
		delete(m.bodies, x.ID)
	}
	m.noteEnd(x.ID)
	m.bear(x.Callbacks)
	return true, nil
}
