package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// pair runs the same operations on Redis and the in-memory engine, and compares all results.
type pair struct {
	t       *rapid.T
	base    *testing.T
	redis   *engine.Redis
	model   *enginetest.Model
	clock   *manual
	ids     []job.ID
	tokens  map[job.ID][2]int64 // last known token on Redis and on the in-memory engine
	keys    *job.Generator
	claimNo int
	last    [2]int64 // tokens of the last claim whose reply was not lost
	doubt   bool
}

type manual struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *manual) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = m.at.Add(d)
}

func propertySettings() engine.Settings {
	s := engine.DefaultSettings()
	s.Lease, s.Ageing = 15*time.Millisecond, time.Hour
	s.Archive, s.EndsLimit = true, 6
	return s
}

func TestRandomInterleavingsAgreeWithTheModelAndKeepTheInvariants(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendfsync", "no")
	q := open(t, server.Addr, 0, propertySettings())
	client := server.Client()
	property.Check(t, func(rt *rapid.T) {
		if err := client.FlushDB(t.Context()).Err(); err != nil {
			rt.Fatal(err)
		}
		clk := &manual{at: time.UnixMilli(1_790_000_000_000)}
		p := &pair{t: rt, base: t, redis: q, model: enginetest.New(clk, propertySettings()), clock: clk,
			tokens: map[job.ID][2]int64{}, keys: job.NewGenerator(clock.System{})}
		rt.Repeat(map[string]func(*rapid.T){
			"enqueue": p.enqueue, "claim": p.claim, "settle": p.settle, "cancel": p.cancel, "move": p.move,
			"revive": p.revive, "reap": p.reap, "renew": p.renew, "resolve": p.resolve, "archive": p.archive,
			"unpark": p.unpark, "hold": p.hold, "": p.check,
		})
	})
}

// tick advances both clocks by at least a millisecond, so that due times have the same order in both.
func (p *pair) tick(d time.Duration) {
	ctx, cancel := context.WithTimeout(p.base.Context(), d)
	defer cancel()
	<-ctx.Done()
	p.clock.add(d)
}

func (p *pair) equal(what string, a, b any, errA, errB error) {
	p.t.Helper()
	if (errA == nil) != (errB == nil) {
		p.t.Fatalf("%s: redis %v, model %v", what, errA, errB)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		p.t.Fatalf("%s (-model +redis):\n%s", what, diff)
	}
}

func (p *pair) some() job.ID {
	if len(p.ids) == 0 {
		p.t.Skip("no jobs yet")
	}
	return rapid.SampledFrom(p.ids).Draw(p.t, "id")
}

func (p *pair) enqueue(t *rapid.T) {
	p.tick(2 * time.Millisecond)
	lane := job.Lane{Channel: job.Webhook, Priority: job.Priority(rapid.IntRange(0, 2).Draw(t, "priority"))}
	var list []engine.NewJob
	for range rapid.IntRange(1, 4).Draw(t, "jobs") {
		id := p.keys.Next(0, lane)
		due := int64(0)
		if rapid.Bool().Draw(t, "later") {
			due = clock.System{}.Now().Add(time.Hour).UnixMilli() + 1_000_000_000_000
		}
		flow := job.LabFlow(rapid.Int64Range(0, 2).Draw(t, "laboratory"))
		if rapid.IntRange(0, 3).Draw(t, "one-time password") == 0 {
			flow = job.OTPFlow(1)
		}
		list = append(list, engine.NewJob{ID: id, DueMs: due, Flow: flow, Body: []byte("v1")})
		p.ids = append(p.ids, id)
	}
	batch := engine.Batch{IdempotencyKey: string(list[0].ID), RequestHash: "h", KeepKey: time.Hour, Jobs: list}
	for range rapid.IntRange(1, 2).Draw(t, "sent") {
		a, errA := p.redis.Enqueue(p.base.Context(), batch)
		b, errB := p.model.Enqueue(p.base.Context(), batch)
		p.equal("enqueue", a, b, errA, errB)
	}
}

func (p *pair) claim(t *rapid.T) {
	p.tick(2 * time.Millisecond)
	p.claimNo++
	q := engine.ClaimRequest{Channel: job.Webhook, Max: rapid.IntRange(1, 12).Draw(t, "most"), Turn: p.claimNo,
		After: [3]job.Flow{job.LabFlow(int64(p.claimNo % 3)), job.LabFlow(1), 0}}
	if rapid.Bool().Draw(t, "limited") {
		q.Limits = &engine.Limits{Ordinary: 6, EachOrdinary: 3, EachReserved: 2, Flows: map[job.Flow]int{job.LabFlow(1): 0}}
		if rapid.Bool().Draw(t, "paused") {
			q.Limits.Flows[job.LabFlow(2)] = engine.FlowPaused
			q.Limits.Flows[job.OTPFlow(1)] = engine.FlowPaused
		}
	}
	onModel := q
	q.Doubt, onModel.Doubt, q.Last, onModel.Last = p.doubt, p.doubt, p.last[0], p.last[1]
	a, errA := p.redis.Claim(p.base.Context(), q)
	b, errB := p.model.Claim(p.base.Context(), onModel)
	p.equal("claim", a.Jobs, b.Jobs, errA, errB)
	p.equal("turns of the claim", a.After, b.After, nil, nil)
	p.equal("jobs held back", a.Held, b.Held, nil, nil)
	if p.doubt = rapid.IntRange(0, 3).Draw(t, "answer lost") == 0; !p.doubt && len(a.Jobs) > 0 {
		p.last = [2]int64{a.Token, b.Token}
	}
	for _, j := range a.Jobs {
		p.tokens[j.ID] = [2]int64{a.Token, b.Token}
	}
}

func (p *pair) settle(t *rapid.T) {
	id := p.some()
	op := rapid.SampledFrom([]engine.Op{engine.OpSucceed, engine.OpFail, engine.OpUnknown, engine.OpCancel, engine.OpRetry, engine.OpRelease}).Draw(t, "op")
	s := engine.Settlement{ID: id, Op: op, Payload: []byte("result")}
	if op == engine.OpRelease || op == engine.OpRetry {
		s.Delay = time.Hour
		s.To = rapid.SampledFrom([]job.Destination{"", "to:12 a", "to:12 b"}).Draw(t, "parked")
		s.Flow = job.LabFlow(rapid.Int64Range(0, 1).Draw(t, "flow"))
	}
	p.tick(2 * time.Millisecond)
	repeats := rapid.IntRange(1, 2).Draw(t, "sent")
	for range repeats {
		onRedis, onModel := s, s
		onRedis.Token, onModel.Token = p.tokens[id][0], p.tokens[id][1]
		a, errA := p.redis.Settle(p.base.Context(), 0, job.Webhook, []engine.Settlement{onRedis})
		b, errB := p.model.Settle(p.base.Context(), 0, job.Webhook, []engine.Settlement{onModel})
		p.equal("settle", a, b, errA, errB)
	}
}

func (p *pair) renew(*rapid.T) {
	id := p.some()
	step := propertySettings().Lease.Milliseconds() * 1000
	at := p.tokens[id]
	a, errA := p.redis.Renew(p.base.Context(), 0, job.Webhook, []engine.Renewal{{ID: id, Mine: at[0], Proposed: at[0] + step, ClaimedMs: 1}})
	b, errB := p.model.Renew(p.base.Context(), 0, job.Webhook, []engine.Renewal{{ID: id, Mine: at[1], Proposed: at[1] + step, ClaimedMs: 1}})
	p.equal("renew", a, b, errA, errB)
	if a[0] != engine.RenewLost {
		p.tokens[id] = [2]int64{at[0] + step, at[1] + step}
	}
}

func (p *pair) cancel(*rapid.T) {
	list := []engine.Cancellation{{ID: p.some(), Record: []byte("cancelled")}}
	a, errA := p.redis.Cancel(p.base.Context(), list)
	b, errB := p.model.Cancel(p.base.Context(), list)
	p.equal("cancel", a, b, errA, errB)
}

func (p *pair) move(*rapid.T) {
	id := p.some()
	p.tick(2 * time.Millisecond)
	m := engine.Move{ID: id, DueMs: 1, Observed: []byte("v1"), Body: []byte("v1")}
	a, errA := p.redis.Reschedule(p.base.Context(), m)
	b, errB := p.model.Reschedule(p.base.Context(), m)
	p.equal("move", a, b, errA, errB)
}

func (p *pair) revive(*rapid.T) {
	id := p.some()
	list := []engine.Revival{{ID: id, Body: []byte("v2"), Observed: []byte("result")}}
	a, errA := p.redis.RetryFailed(p.base.Context(), list, time.Hour)
	b, errB := p.model.RetryFailed(p.base.Context(), list, time.Hour)
	p.equal("revive", a, b, errA, errB)
}

func (p *pair) resolve(t *rapid.T) {
	x := engine.Resolution{ID: p.some(), Observed: []byte("result"), Record: []byte("resolved"), Sent: rapid.Bool().Draw(t, "was sent")}
	for range rapid.IntRange(1, 2).Draw(t, "sent") {
		a, errA := p.redis.Resolve(p.base.Context(), x)
		b, errB := p.model.Resolve(p.base.Context(), x)
		p.equal("resolve", a, b, errA, errB)
	}
}

// archive removes some jobs from the archive queue and deletes their results, except dead letters.
func (p *pair) archive(t *rapid.T) {
	most := rapid.IntRange(1, 8).Draw(t, "ends")
	a, errA := p.redis.OldestEnds(p.base.Context(), 0, most)
	b, errB := p.model.OldestEnds(p.base.Context(), 0, most)
	p.equal("ends", append([]job.ID{}, a.IDs...), append([]job.ID{}, b.IDs...), errA, errB)
	_, errA = p.redis.TrimEnds(p.base.Context(), 0, a)
	_, errB = p.model.TrimEnds(p.base.Context(), 0, b)
	p.equal("trim ends", nil, nil, errA, errB)
	errA, errB = p.redis.ForgetResults(p.base.Context(), a.IDs), p.model.ForgetResults(p.base.Context(), b.IDs)
	p.equal("forget results", nil, nil, errA, errB)
}

func (p *pair) unpark(t *rapid.T) {
	p.tick(2 * time.Millisecond)
	a, errA := p.redis.Groups(p.base.Context(), 0)
	b, errB := p.model.Groups(p.base.Context(), 0)
	p.equal("groups", append([]engine.Group{}, a...), append([]engine.Group{}, b...), errA, errB)
	if len(a) == 0 {
		t.Skip("nothing is parked")
	}
	g, most := rapid.SampledFrom(a).Draw(t, "group"), rapid.IntRange(1, 3).Draw(t, "most")
	x, errX := p.redis.Unpark(p.base.Context(), 0, g, most)
	y, errY := p.model.Unpark(p.base.Context(), 0, g, most)
	p.equal("unpark", x, y, errX, errY)
}

// hold pauses a destination, tests it or ends its pause.
func (p *pair) hold(t *rapid.T) {
	const to, long = job.Destination("to:12 a"), time.Hour
	p.tick(2 * time.Millisecond)
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		p.equal("hold", nil, nil, p.redis.Hold(p.base.Context(), to, long), p.model.Hold(p.base.Context(), to, long))
	case 1:
		a, errA := p.redis.TryHeld(p.base.Context(), to, long)
		b, errB := p.model.TryHeld(p.base.Context(), to, long)
		p.equal("try", a > 0, b > 0, errA, errB)
	case 2:
		p.equal("free", nil, nil, p.redis.FreeHeld(p.base.Context(), to), p.model.FreeHeld(p.base.Context(), to))
	}
	a, errA := p.redis.Holds(p.base.Context())
	b, errB := p.model.Holds(p.base.Context())
	p.equal("held", len(a.Held), len(b.Held), errA, errB)
}

// reap waits until all leases have expired on both clocks, even those renewed for a long time.
func (p *pair) reap(*rapid.T) {
	p.tick(propertySettings().Lease + 3*time.Millisecond)
	a, errA := p.redis.Expired(p.base.Context(), 0, job.Webhook, 100)
	b, errB := p.model.Expired(p.base.Context(), 0, job.Webhook, 100)
	if errA != nil || errB != nil {
		p.t.Fatal(errA, errB)
	}
	fence, err := p.redis.Lead(p.base.Context(), 0, "reaper", time.Hour)
	if err != nil {
		p.t.Fatal(err)
	}
	common := both(a, b)
	for _, id := range common {
		onRedis, onModel := find(a, id), find(b, id)
		p.equal("evidence", onRedis.Evidence, onModel.Evidence, nil, nil)
		decision, counters := job.DecideExpiry(onRedis.Evidence)
		x, errX := p.redis.Reap(p.base.Context(), 0, job.Webhook, fence, []engine.Settlement{reaped(onRedis, decision, counters)})
		y, errY := p.model.Reap(p.base.Context(), 0, job.Webhook, 1, []engine.Settlement{reaped(onModel, decision, counters)})
		p.equal("reap", x, y, errX, errY)
	}
}

func both(a, b []engine.Expired) []job.ID {
	var ids []job.ID
	for _, e := range a {
		if slices.ContainsFunc(b, func(o engine.Expired) bool { return o.ID == e.ID }) {
			ids = append(ids, e.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func find(list []engine.Expired, id job.ID) engine.Expired {
	return list[slices.IndexFunc(list, func(e engine.Expired) bool { return e.ID == id })]
}

func (p *pair) check(*rapid.T) {
	if len(p.ids) == 0 {
		return
	}
	a, errA := p.redis.Info(p.base.Context(), p.ids)
	b, errB := p.model.Info(p.base.Context(), p.ids)
	places := func(list []engine.Snapshot) (out []engine.Place) {
		for _, s := range list {
			out = append(out, s.Place)
		}
		return out
	}
	p.equal("places", places(a), places(b), errA, errB)
	checkInvariants(p.base, a, deadSet(p.base, p.redis))
	p.depths()
	p.audit()
}

// depths compares the values that are independent of the clocks.
func (p *pair) depths() {
	a, errA := p.redis.Depths(p.base.Context(), 0)
	b, errB := p.model.Depths(p.base.Context(), 0)
	for _, list := range [][]engine.Depth{a.Lanes, b.Lanes} {
		for i := range list {
			list[i].Ready, list[i].OldestMs = 0, 0
		}
	}
	p.equal("depths", a, b, errA, errB)
}

// audit runs the invariant check, which reads every key. It ignores leases that end too late, because this test creates
// such leases by renewal.
func (p *pair) audit() {
	report, err := audit.CheckShard(p.base.Context(), p.redis, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, v := range report.Violations {
		if v.Rule != audit.LeaseFar {
			p.t.Fatalf("%s of %s, found in %s", v.Rule, v.Text, v.Source.Name)
		}
	}
}
