package model

import (
	"cmp"
	"context"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Claim leases up to Max ready jobs.
func (m *Model) Claim(_ context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	c := engine.Claim{NowMs: now}
	var ready [3][]job.ID
	for p := job.Low; p <= job.High; p++ {
		ready[p] = m.ready(job.Lane{Channel: q.Channel, Priority: p}, q.Shard, now)
	}
	take := m.plan(q, ready, now)
	if take[0]+take[1]+take[2] > 0 {
		m.claims++
		c.Token = (now+m.set.Lease.Milliseconds())*1000 + m.claims%1000
	}
	for p := int(job.High); p >= int(job.Low); p-- {
		for _, id := range ready[p][:take[p]] {
			delete(m.lanes[id.Lane()], id)
			m.leases[id] = c.Token
			c.Jobs = append(c.Jobs, engine.Leased{ID: id, Raw: m.bodies[id]})
		}
	}
	c.NextDueMs = m.nextDue(q)
	return c, nil
}

func (m *Model) ready(lane job.Lane, shard int, now int64) []job.ID {
	var ids []job.ID
	for id, due := range m.lanes[lane] {
		if due <= now && id.Shard() == shard {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b job.ID) int {
		return cmp.Or(cmp.Compare(m.lanes[lane][a], m.lanes[lane][b]), cmp.Compare(a, b))
	})
	return ids
}

// plan divides a claim over the priorities: shares first, then levels.
func (m *Model) plan(q engine.ClaimRequest, ready [3][]job.ID, now int64) (take [3]int) {
	left := q.Max
	give := func(p, want int) {
		k := max(0, min(want, left, len(ready[p])-take[p]))
		take[p] += k
		left -= k
	}
	share := func(percent int) int { return (q.Turn+q.Max)*percent/100 - q.Turn*percent/100 }
	give(0, share(m.set.LowShare))
	give(1, share(m.set.ModerateShare))
	for level := 3; level >= 0; level-- {
		var tied []int
		for p := 2; p >= 0; p-- {
			if m.level(p, ready[p], now) == level && take[p] < len(ready[p]) {
				tied = append(tied, p)
			}
		}
		if len(tied) == 2 {
			give(tied[1], left/2)
		}
		for _, p := range tied {
			give(p, left)
		}
	}
	return take
}

func (m *Model) level(p int, ready []job.ID, now int64) int {
	if len(ready) > 0 && now-m.lanes[ready[0].Lane()][ready[0]] > m.set.Ageing.Milliseconds() {
		return p + 1
	}
	return p
}

func (m *Model) nextDue(q engine.ClaimRequest) int64 {
	next := int64(-1)
	for p := job.Low; p <= job.High; p++ {
		for id, due := range m.lanes[job.Lane{Channel: q.Channel, Priority: p}] {
			if id.Shard() == q.Shard && (next < 0 || due < next) {
				next = due
			}
		}
	}
	return next
}

// Renew prolongs leases.
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

// MarkIntent records a send that is about to begin.
func (m *Model) MarkIntent(_ context.Context, id job.ID, token int64, provider string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leases[id] != token || token < m.now()*1000 {
		return false, nil
	}
	m.intents[id] = provider
	return true, nil
}

// Expired lists leases that ran out, oldest first.
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
		e.Evidence.Cancel, e.Evidence.NoBody = m.cancels[id], e.Raw == nil
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b engine.Expired) int { return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.ID, b.ID)) })
	return list[:min(most, len(list))], nil
}
