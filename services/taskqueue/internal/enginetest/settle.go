package enginetest

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (m *Model) Settle(_ context.Context, _ int, _ job.Channel, list []engine.Settlement) ([]engine.Verdict, error) {
	return m.settle(list, false), nil
}

func (m *Model) Reap(
	_ context.Context, _ int, _ job.Channel, _ int64, list []engine.Settlement,
) ([]engine.Verdict, error) {
	return m.settle(list, true), nil
}

func (m *Model) settle(list []engine.Settlement, reaping bool) []engine.Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	verdicts := make([]engine.Verdict, len(list))
	for i := range list {
		verdicts[i] = m.settleOne(&list[i], reaping)
	}
	return verdicts
}

func (m *Model) settleOne(s *engine.Settlement, reaping bool) engine.Verdict {
	token, ok := m.leases[s.ID]
	if !ok || token != s.Token || (reaping && token >= m.now()*1000) {
		if _, ended := m.records[s.ID]; ended {
			return engine.VerdictAlready
		}
		return engine.VerdictLost
	}
	waits := s.Op == engine.OpRetry || s.Op == engine.OpRelease
	if waits && m.cancels[s.ID] {
		return engine.VerdictCancelRequested
	}
	m.count(s)
	delete(m.leases, s.ID)
	delete(m.renewed, s.ID)
	delete(m.intents, s.ID)
	m.leaveWindow(s.Window, s.ID)
	if waits {
		m.putBack(s)
		return engine.VerdictDone
	}
	if !m.roomFor(s.Callbacks) {
		s.Payload = append(slices.Clone(s.Payload), job.UntoldMark...)
		m.end(s)
		return engine.VerdictUntold
	}
	m.end(s)
	m.bear(s.Callbacks)
	return engine.VerdictDone
}

func (m *Model) count(s *engine.Settlement) {
	switch s.Op {
	case engine.OpRetry, engine.OpFail, engine.OpUnknown:
		m.faults[s.ID.Lane().Channel]++
		fallthrough
	case engine.OpSucceed:
		m.attempts[s.ID.Lane().Channel]++
	}
}

func (m *Model) putBack(s *engine.Settlement) {
	m.lanes[s.ID.Lane()][s.ID] = m.now() + s.Delay.Milliseconds()
	m.flows[s.ID] = s.Flow
	if s.To != "" {
		g := engine.Group{Channel: s.ID.Lane().Channel, Flow: s.Flow, To: s.To}
		if m.parked[g] == nil {
			m.parked[g] = map[job.ID]int64{}
		}
		m.parked[g][s.ID] = m.lanes[s.ID.Lane()][s.ID]
	}
	if s.Op == engine.OpRetry {
		m.bodies[s.ID] = s.Payload
	}
	if s.Counter != 0 {
		m.counters[s.ID] = s.Counter
	}
}

func (m *Model) end(s *engine.Settlement) {
	delete(m.counters, s.ID)
	delete(m.cancels, s.ID)
	if s.Op != engine.OpDrop {
		m.records[s.ID] = s.Payload
		m.noteEnd(s.ID)
	}
	if s.Op == engine.OpFail || s.Op == engine.OpUnknown {
		m.dead[s.ID], m.flows[s.ID] = m.now(), s.Flow
		return
	}
	delete(m.bodies, s.ID)
}

func (m *Model) roomFor(children []engine.NewJob) bool {
	if len(children) == 0 || children[0].Flow <= job.FlowPlatform {
		return true
	}
	return m.waiting(engine.CallbackLane(), children[0].Flow)+len(children) <= m.set.CallbackLimit()
}

func (m *Model) bear(children []engine.NewJob) {
	for _, child := range children {
		m.bodies[child.ID] = child.Body
		m.lanes[engine.CallbackLane()][child.ID] = m.now()
		m.flows[child.ID] = child.Flow
	}
}
