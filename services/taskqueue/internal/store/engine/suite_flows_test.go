package engine_test

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// enqueueFlow adds n jobs of a flow, due now.
func (b *fixture) enqueueFlow(l job.Lane, flow job.Flow, n int) {
	b.t.Helper()
	batch := engine.Batch{IdempotencyKey: string(b.id(l)), RequestHash: "h", KeepKey: time.Minute}
	for range n {
		batch.Jobs = append(batch.Jobs,
			engine.NewJob{ID: b.id(l), Flow: flow, Body: (&job.Body{Task: 4, Flow: flow}).Encode(nil)})
	}
	b.accept(batch)
}

func flows(c engine.Claim) map[job.Flow]int {
	got := map[job.Flow]int{}
	for _, one := range c.Jobs {
		got[one.Flow]++
	}
	return got
}

// A flow with a backlog takes turns with the others, regardless of the order of enqueuing.
func turns(b *fixture) {
	flood, small, old := job.LabFlow(1), job.LabFlow(2), job.Flow(0)
	b.enqueueFlow(webhook, flood, 900)
	b.enqueueFlow(webhook, old, 30)
	b.enqueueFlow(webhook, small, 5)
	b.wantFlows(b.claim(job.Webhook, 30), map[job.Flow]int{flood: 13, small: 5, old: 12})
	b.enqueueFlow(webhook, small, 5)
	q := engine.ClaimRequest{Channel: job.Webhook, Max: 1}
	got := map[job.Flow]int{}
	for range 9 { // claims of one job: each flow in turn
		claim, err := b.Queue.Claim(b.t.Context(), q)
		if err != nil {
			b.t.Fatal(err)
		}
		q.After = claim.After
		for flow, n := range flows(claim) {
			got[flow] += n
		}
	}
	if diff := cmp.Diff(map[job.Flow]int{flood: 3, small: 3, old: 3}, got); diff != "" {
		b.t.Error(diff)
	}
}

// Flows at their limits leave slots to others, and the claim reports that they have ready jobs.
func limits(b *fixture) {
	flood, small := job.LabFlow(1), job.LabFlow(2)
	b.enqueueFlow(webhook, flood, 100)
	b.enqueueFlow(webhook, small, 100)
	b.enqueueFlow(webhook, job.FlowPlatform, 100)
	claim := b.claimWithin(
		&engine.Limits{Ordinary: 8, EachOrdinary: 5, EachReserved: 7, Flows: map[job.Flow]int{flood: 0}},
	)
	b.wantFlows(claim, map[job.Flow]int{small: 5, job.FlowPlatform: 7})
	if !claim.Held {
		b.t.Error("the claim does not say that jobs were held back")
	}
	claim = b.claimWithin(&engine.Limits{Ordinary: 4, EachOrdinary: 3, EachReserved: 20})
	if got := flows(claim); got[flood]+got[small] != 4 || got[job.FlowPlatform] != 16 {
		b.t.Errorf("claimed %v", got)
	}
	claim = b.claimWithin(&engine.Limits{Flows: map[job.Flow]int{job.FlowPlatform: 0}})
	if len(claim.Jobs) != 0 || !claim.Held || claim.Token != 0 {
		b.t.Errorf("claimed %v, held %v", flows(claim), claim.Held)
	}
}

func (b *fixture) claimWithin(l *engine.Limits) engine.Claim {
	b.t.Helper()
	claim, err := b.Queue.Claim(b.t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 20, Limits: l})
	if err != nil {
		b.t.Fatal(err)
	}
	return claim
}

func (b *fixture) wantFlows(c engine.Claim, want map[job.Flow]int) {
	b.t.Helper()
	if diff := cmp.Diff(want, flows(c)); diff != "" {
		b.t.Error(diff)
	}
}

// A job that is moved, retried or released stays in its flow, with its own time.
func keepsFlow(b *fixture) {
	flow := job.LabFlow(7)
	b.enqueueFlow(webhook, flow, 1)
	c := b.claim(job.Webhook, 5)
	b.settle(job.Webhook,
		engine.Settlement{ID: c.Jobs[0].ID, Token: c.Token, Op: engine.OpRelease, Flow: flow, Delay: time.Hour})
	at := b.nowMs() + 5_000_000
	if moved := b.move(c.Jobs[0].ID, at); moved != engine.MoveDone {
		b.t.Fatal(moved)
	}
	if s := b.info(c.Jobs[0].ID); s.DueMs != at {
		b.t.Errorf("due at %d, want %d", s.DueMs, at)
	}
	if moved := b.move(c.Jobs[0].ID, 1); moved != engine.MoveDone {
		b.t.Fatal(moved)
	}
	c = b.claim(job.Webhook, 5)
	b.wantFlows(c, map[job.Flow]int{flow: 1})
	b.settle(job.Webhook,
		engine.Settlement{ID: c.Jobs[0].ID, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)})
	body := (&job.Body{Task: 4, Flow: flow}).Encode(nil)
	if !b.revive(engine.Revival{ID: c.Jobs[0].ID, Body: body, Observed: record(job.Failed)}, 0)[0] {
		b.t.Fatal("the failed job was not revived")
	}
	b.wantFlows(b.claim(job.Webhook, 5), map[job.Flow]int{flow: 1})
}

// A batch of a flow at its limit is rejected as a whole; other flows are accepted.
func flowLimit(b *fixture) {
	full, other := job.LabFlow(1), job.LabFlow(2)
	b.enqueueFlow(webhook, full, 1499)
	b.enqueueFlow(webhook, job.FlowPlatform, 1)
	refused := engine.Batch{IdempotencyKey: "over", RequestHash: "h", KeepKey: time.Minute}
	for range 2 {
		refused.Jobs = append(refused.Jobs, engine.NewJob{ID: b.id(webhook), Flow: full, Body: []byte("x")})
	}
	if _, err := b.Queue.Enqueue(b.t.Context(), refused); !errors.Is(err, engine.ErrFlowFull) {
		b.t.Errorf("over the limit: %v", err)
	}
	b.wantPlace(refused.Jobs[0].ID, engine.PlaceNone)
	b.enqueueFlow(webhook, full, 1)
	b.enqueueFlow(webhook, other, 10)
}

// A laboratory that used up its bytes gets no new jobs, but repeats and joins succeed.
func fullLaboratory(b *fixture) {
	flow := job.LabFlow(1)
	first := engine.Batch{IdempotencyKey: "first", RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{
		{ID: b.id(webhook), Flow: flow, DueMs: b.nowMs() + 60_000, Body: []byte("x"), Window: &engine.Window{Key: "w"}}}}
	id := b.accept(first)[0]
	first.Full = true
	if again := b.accept(first)[0]; again != id {
		b.t.Errorf("a repeat: %s", again)
	}
	join := engine.Batch{IdempotencyKey: "join", RequestHash: "h", KeepKey: time.Minute, Full: true, Jobs: []engine.NewJob{
		{ID: b.id(webhook), Flow: flow, Body: []byte("x"), Window: &engine.Window{Key: "w"}}}}
	if joined := b.accept(join)[0]; joined != id {
		b.t.Errorf("a join: %s", joined)
	}
	another := engine.Batch{
		IdempotencyKey: "new",
		RequestHash:    "h",
		KeepKey:        time.Minute,
		Full:           true,
		Jobs: []engine.NewJob{
			{ID: b.id(webhook), Flow: flow, Body: []byte("x")}},
	}
	if _, err := b.Queue.Enqueue(b.t.Context(), another); !errors.Is(err, engine.ErrFlowFull) {
		b.t.Errorf("a new job: %v", err)
	}
}

// One-time passwords have their own reserve: a hundredth of the laboratory's limit.
func passwordLimit(b *fixture) {
	b.enqueueFlow(webhook, job.OTPFlow(1), 15)
	over := engine.Batch{IdempotencyKey: "over", RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{
		{ID: b.id(webhook), Flow: job.OTPFlow(1), Body: []byte("x")}}}
	if _, err := b.Queue.Enqueue(b.t.Context(), over); !errors.Is(err, engine.ErrFlowFull) {
		b.t.Errorf("the sixteenth: %v", err)
	}
}

// Urgent notices are accepted after a laboratory has used up its limit and that of its passwords.
func urgentLimit(b *fixture) {
	b.enqueueFlow(webhook, job.LabFlow(1), 1000)
	b.enqueueFlow(webhook, job.LabFlow(1), 500)
	b.enqueueFlow(webhook, job.OTPFlow(1), 15)
	b.enqueueFlow(webhook, job.UrgentFlow(1), 15)
	for _, flow := range job.LabFlows(1) {
		over := engine.Batch{IdempotencyKey: string(b.id(webhook)), RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{
			{ID: b.id(webhook), Flow: flow, Body: []byte("x")}}}
		if _, err := b.Queue.Enqueue(b.t.Context(), over); !errors.Is(err, engine.ErrFlowFull) {
			b.t.Errorf("one more job of flow %d: %v, want ErrFlowFull", flow, err)
		}
	}
}

// Two laboratories fill a lane of 2,000 jobs: urgent notices and passwords are accepted until it is completely full.
func laneReserve(b *fixture) {
	b.enqueueFlow(webhook, job.LabFlow(1), 1000)
	b.enqueueFlow(webhook, job.LabFlow(2), 875)
	one := func(flow job.Flow) error {
		_, err := b.Queue.Enqueue(b.t.Context(), engine.Batch{
			IdempotencyKey: string(b.id(webhook)), RequestHash: "h", KeepKey: time.Minute,
			Jobs: []engine.NewJob{{ID: b.id(webhook), Flow: flow, Body: []byte("x")}},
		})
		return err
	}
	if err := one(job.LabFlow(2)); !errors.Is(err, engine.ErrLaneFull) {
		b.t.Errorf("an ordinary job: %v, want ErrLaneFull", err)
	}
	for lab := range int64(9) {
		if lab < 8 {
			b.enqueueFlow(webhook, job.UrgentFlow(lab), 15)
			continue
		}
		b.enqueueFlow(webhook, job.OTPFlow(lab), 5)
	}
	if err := one(job.UrgentFlow(9)); !errors.Is(err, engine.ErrLaneFull) {
		b.t.Errorf("an urgent notice in a full lane: %v, want ErrLaneFull", err)
	}
}

// A tenth of a laboratory's limit may be callbacks. Further ones are dropped, and the record shows it.
func callbackLimit(b *fixture) {
	flow := job.LabFlow(1)
	b.enqueueFlow(engine.CallbackLane(), flow, 149)
	b.enqueueFlow(webhook, flow, 3)
	c := b.claim(job.Webhook, 3)
	end := func(n, children int, flow job.Flow) engine.Verdict {
		s := engine.Settlement{ID: c.Jobs[n].ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)}
		for range children {
			s.Callbacks = append(s.Callbacks, engine.NewJob{ID: b.id(engine.CallbackLane()), Flow: flow, Body: []byte("x")})
		}
		verdict := b.settle(job.Webhook, s)[0]
		r, err := job.DecodeRecord(b.info(s.ID).Record)
		if err != nil || r.State != job.Finished || r.Untold != (verdict == engine.VerdictUntold) {
			b.t.Errorf("%+v, %v", r, err)
		}
		return verdict
	}
	if got := end(0, 2, flow); got != engine.VerdictUntold {
		b.t.Errorf("two callbacks where one has room: %v", got)
	}
	if got := end(1, 1, flow); got != engine.VerdictDone {
		b.t.Errorf("the last one: %v", got)
	}
	if got := end(2, 5, job.FlowPlatform); got != engine.VerdictDone {
		b.t.Errorf("the platform's own: %v", got)
	}
}

// Dead letters are found by flow until they are retried, resolved or deleted.
func deadByFlow(b *fixture) {
	one, other := job.LabFlow(1), job.LabFlow(2)
	b.enqueueFlow(webhook, one, 3)
	b.enqueueFlow(webhook, other, 1)
	c := b.claim(job.Webhook, 4)
	for _, j := range c.Jobs {
		b.settle(
			job.Webhook,
			engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpFail, Flow: j.Flow, Payload: record(job.Failed)},
		)
		b.Advance(2 * time.Millisecond)
	}
	count := func() map[job.Flow]int64 {
		b.t.Helper()
		parts, err := b.Queue.DeadParts(b.t.Context(), 0)
		if err != nil {
			b.t.Fatal(err)
		}
		jobs := map[job.Flow]int64{}
		for flow, p := range parts {
			jobs[flow] = p.Jobs
			if p.Bytes == 0 {
				b.t.Errorf("flow %d has no bytes", flow)
			}
		}
		return jobs
	}
	if diff := cmp.Diff(map[job.Flow]int64{one: 3, other: 1}, count()); diff != "" {
		b.t.Error(diff)
	}
	list, err := b.Queue.Browse(b.t.Context(), engine.Range{List: engine.ListDead, Flow: one, Until: b.nowMs()}, engine.Member{}, 2)
	if err != nil || len(list) != 2 || list[0].Score > list[1].Score {
		b.t.Fatalf("%+v, %v", list, err)
	}
	body := (&job.Body{Task: 4, Flow: one}).Encode(nil)
	if !b.revive(engine.Revival{ID: list[0].ID, Body: body, Observed: record(job.Failed)}, time.Hour)[0] {
		b.t.Error("not revived")
	}
	if went, err := b.Queue.TrimDead(b.t.Context(), 0, list[1:]); err != nil || went != 1 {
		b.t.Errorf("%d went, %v", went, err)
	}
	if diff := cmp.Diff(map[job.Flow]int64{one: 1, other: 1}, count()); diff != "" {
		b.t.Error(diff)
	}
}

// The sizes of waiting jobs are estimated; flows with few jobs are left out.
func sizes(b *fixture) {
	b.enqueueFlow(webhook, job.LabFlow(1), 100)
	b.enqueueFlow(lane(job.Email, job.Low), job.LabFlow(1), 50)
	b.enqueueFlow(webhook, job.LabFlow(2), 9)
	got, err := b.Queue.FlowSizes(b.t.Context(), 0, 10)
	one := int64(len(b.info(b.claim(job.Email, 1).Jobs[0].ID).Body))
	tenths := got[job.LabFlow(1)] * 10 / (150 * one)
	if err != nil || len(got) != 1 || tenths < 9 || tenths > 11 {
		b.t.Errorf("sizes %v of 150 jobs of %d bytes, %v", got, one, err)
	}
}
