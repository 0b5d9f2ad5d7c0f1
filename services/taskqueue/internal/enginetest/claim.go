package enginetest

import (
	"cmp"
	"context"
	"slices"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// turn is a flow of a lane with ready jobs.
type turn struct {
	flow  job.Flow
	ready []job.ID
	take  int
}

// claimPlan divides a claim among the priorities and their flows.
type claimPlan struct {
	lanes    [3][]*turn // flows with ready jobs, by priority
	level    [3]int
	most     map[job.Flow]int // number of jobs that each flow may still take
	ordinary int              // number of jobs that all ordinary flows together may still take
	left     int
	after    [3]job.Flow
	held     bool // some flows with ready jobs are at their limits
	more     bool // some flows with ready jobs are below their limits
}

func (m *Model) Claim(_ context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if last := m.claimers[q.Claimer]; q.Doubt && last != 0 && last != q.Last {
		m.lost[last] = true
	}
	p := m.plan(q, now)
	c := engine.Claim{NowMs: now}
	if p.left > 0 {
		p.divide(q.Turn, m.set)
		m.claims++
		c.Token = (now+m.set.Lease.Milliseconds())*1000 + m.claims%1000
		m.claimers[q.Claimer] = c.Token
	}
	c.After = p.after
	for _, priority := range []job.Priority{job.High, job.Moderate, job.Low} {
		for _, t := range p.lanes[priority] {
			m.lease(&c, t)
			p.leftOver(t)
		}
	}
	c.Held, c.NextDueMs = p.held, m.nextDue(q, now)
	if p.more {
		c.NextDueMs = now
	}
	return c, nil
}

func (m *Model) ReadBodies(_ context.Context, jobs []engine.Leased) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range jobs {
		jobs[i].Raw = m.bodies[jobs[i].ID]
	}
	return nil
}

func (m *Model) lease(c *engine.Claim, t *turn) {
	for _, id := range t.ready[:t.take] {
		delete(m.lanes[id.Lane()], id)
		m.leases[id] = c.Token
		m.begun[id.Lane()]++
		c.Jobs = append(c.Jobs, engine.Leased{ID: id, Flow: t.flow})
	}
}

func (m *Model) plan(q engine.ClaimRequest, now int64) *claimPlan {
	limits := q.Limits
	if limits == nil {
		limits = &engine.Limits{Ordinary: q.Max, EachOrdinary: q.Max, EachReserved: q.Max}
	}
	p := &claimPlan{most: map[job.Flow]int{}, ordinary: limits.Ordinary, after: q.After}
	waits := map[job.Flow]int{}
	full := m.set.EndsLimit > 0 && len(m.shardEnds(q.Shard).IDs) >= m.set.EndsLimit
	for priority := job.Low; priority <= job.High; priority++ {
		lane := job.Lane{Channel: q.Channel, Priority: priority}
		p.level[priority] = int(priority)
		for _, t := range m.turns(lane, q, now) {
			if full && !t.flow.Reserved() {
				p.held = true
				continue
			}
			if limits.Flows[t.flow] == engine.FlowPaused {
				continue
			}
			if now-m.lanes[lane][t.ready[0]] > m.set.Ageing.Milliseconds() {
				p.level[priority] = int(priority) + 1
			}
			p.most[t.flow] = limitOf(limits, t.flow)
			if p.most[t.flow] == 0 {
				p.held = true
				continue
			}
			if len(p.lanes[priority]) >= q.Max {
				p.more = true
				break
			}
			waits[t.flow] += len(t.ready)
			p.lanes[priority] = append(p.lanes[priority], t)
		}
	}
	p.left = p.available(waits, q.Max)
	return p
}

func limitOf(l *engine.Limits, flow job.Flow) int {
	if most, ok := l.Flows[flow]; ok {
		return most
	}
	if flow.Reserved() {
		return l.EachReserved
	}
	return l.EachOrdinary
}

func (p *claimPlan) available(waits map[job.Flow]int, most int) int {
	var reserved, others int
	for flow, ready := range waits {
		if k := min(ready, p.most[flow]); flow.Reserved() {
			reserved += k
		} else {
			others += k
		}
	}
	return min(most, reserved+min(others, p.ordinary))
}

// turns returns the flows of a lane with ready jobs, starting with the one to serve next.
func (m *Model) turns(lane job.Lane, q engine.ClaimRequest, now int64) []*turn {
	flows := map[job.Flow]*turn{}
	var list []*turn
	for _, id := range m.ready(lane, q.Shard, now) {
		t := flows[m.flows[id]]
		if t == nil {
			t = &turn{flow: m.flows[id]}
			flows[t.flow] = t
			list = append(list, t)
		}
		t.ready = append(t.ready, id)
	}
	after := q.After[lane.Priority]
	const wrap = 1 << 13 // greater than the number of flows
	order := func(flow job.Flow) job.Flow {
		if flow <= after {
			return flow + wrap
		}
		return flow
	}
	slices.SortFunc(list, func(a, b *turn) int { return cmp.Compare(order(a.flow), order(b.flow)) })
	return list
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

// divide first gives each priority its share, then the rest by level.
func (p *claimPlan) divide(before int, set engine.Settings) {
	total := p.left
	share := func(from, percent int) int { return (from+total)*percent/100 - from*percent/100 }
	p.give(job.Low, share(before, set.LowShare))
	p.give(job.Moderate, share(before+2, set.ModerateShare))
	for level := 3; level >= 0; level-- {
		var tied []job.Priority
		for _, priority := range []job.Priority{job.High, job.Moderate, job.Low} {
			if p.level[priority] == level && len(p.lanes[priority]) > 0 {
				tied = append(tied, priority)
			}
		}
		if len(tied) == 2 {
			p.give(tied[1], p.left/2)
		}
		for _, priority := range tied {
			p.give(priority, p.left)
		}
	}
}

// give lets the flows of a lane take want jobs in turn, in parts that are as equal as possible.
func (p *claimPlan) give(priority job.Priority, want int) {
	want = min(want, p.left)
	for progress := true; want > 0 && progress; {
		progress = false
		each := max(1, want/max(1, len(p.lanes[priority])))
		for _, t := range p.lanes[priority] {
			k := min(each, want, len(t.ready)-t.take, p.most[t.flow])
			if !t.flow.Reserved() {
				k = min(k, p.ordinary)
				p.ordinary -= k
			}
			if k > 0 {
				t.take, p.most[t.flow] = t.take+k, p.most[t.flow]-k
				want, p.left, p.after[priority], progress = want-k, p.left-k, t.flow, true
			}
		}
	}
}

// leftOver records why a flow still has ready jobs.
func (p *claimPlan) leftOver(t *turn) {
	switch {
	case t.take == len(t.ready):
	case p.most[t.flow] > 0 && (p.ordinary > 0 || t.flow.Reserved()):
		p.more = true
	default:
		p.held = true
	}
}

// nextDue returns the earliest due time in the future; -1 if there is none.
func (m *Model) nextDue(q engine.ClaimRequest, now int64) int64 {
	next := int64(-1)
	for priority := job.Low; priority <= job.High; priority++ {
		for id, due := range m.lanes[job.Lane{Channel: q.Channel, Priority: priority}] {
			if id.Shard() == q.Shard && due > now && (next < 0 || due < next) {
				next = due
			}
		}
	}
	return next
}
