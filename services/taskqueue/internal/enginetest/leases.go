package enginetest

import (
	"cmp"
	"context"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (m *Model) Renew(_ context.Context, _ int, _ job.Channel, list []engine.Renewal) ([]engine.Renewed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answers := make([]engine.Renewed, len(list))
	for i, x := range list {
		token, ok := m.leases[x.ID]
		if !ok || (token != x.Mine && token != x.Proposed) {
			continue
		}
		m.leases[x.ID] = x.Proposed
		if _, known := m.renewed[x.ID]; !known {
			m.renewed[x.ID] = x.ClaimedMs
		}
		answers[i] = engine.RenewOK
		if m.cancels[x.ID] {
			answers[i] = engine.RenewCancelRequested
		}
	}
	return answers, nil
}

func (m *Model) MarkIntent(_ context.Context, id job.ID, token int64, provider string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leases[id] != token || token < m.now()*1000 {
		return false, nil
	}
	m.intents[id] = provider
	return true, nil
}

func (m *Model) Expired(_ context.Context, shard int, c job.Channel, most int) ([]engine.Expired, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []engine.Expired
	for id, token := range m.leases {
		if id.Shard() != shard || id.Lane().Channel != c || token >= m.now()*1000 {
			continue
		}
		e := engine.Expired{ID: id, Token: token, Raw: m.bodies[id], Evidence: job.UnpackEvidence(m.counters[id])}
		_, e.Evidence.Renewed = m.renewed[id]
		_, e.Evidence.Intent = m.intents[id]
		e.Evidence.Unseen = m.lost[token]
		e.Evidence.Cancel, e.Evidence.NoBody = m.cancels[id], e.Raw == nil
		list = append(list, e)
	}
	slices.SortFunc(list,
		func(a, b engine.Expired) int { return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.ID, b.ID)) })
	return list[:min(most, len(list))], nil
}
