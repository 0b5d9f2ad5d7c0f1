package engine_test

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (b *fixture) cancel(id job.ID, children ...engine.NewJob) engine.Cancelled {
	b.t.Helper()
	answers, err := b.Queue.Cancel(b.t.Context(),
		[]engine.Cancellation{{ID: id, Record: record(job.Cancelled), Callbacks: children}})
	if err != nil {
		b.t.Fatalf("cancel: %v", err)
	}
	return answers[0]
}

func cancels(b *fixture) {
	waiting := b.enqueue(webhook, 1, b.nowMs()+60_000)[0]
	child := b.child()
	for range 2 { // the second is a repeat after a lost reply
		if got := b.cancel(waiting, child); got != engine.CancelDone {
			b.t.Errorf("waiting: %v", got)
		}
	}
	b.wantPlace(waiting, engine.PlaceResult)
	if got := len(b.claim(job.Callback, 9).Jobs); got != 1 {
		b.t.Errorf("%d callbacks of the cancelled job, want 1", got)
	}
	running := b.enqueue(webhook, 1, 0)[0]
	c := b.claim(job.Webhook, 1)
	if got := b.cancel(running); got != engine.CancelRequested {
		b.t.Errorf("running: %v", got)
	}
	refused := engine.Settlement{
		ID:      running,
		Token:   c.Token,
		Op:      engine.OpRetry,
		Delay:   time.Second,
		Payload: []byte("v2"),
	}
	if v := b.settle(job.Webhook, refused); v[0] != engine.VerdictCancelRequested {
		b.t.Errorf("retry of a job to cancel: %v", v[0])
	}
	b.wantPlace(running, engine.PlaceLease)
	b.settle(job.Webhook,
		engine.Settlement{ID: running, Token: c.Token, Op: engine.OpCancel, Payload: record(job.Cancelled)})
	if s := b.wantPlace(running, engine.PlaceResult); s.CancelRequested {
		b.t.Error("the request outlived the job")
	}
	sent := b.enqueue(webhook, 1, 0)[0]
	c = b.claim(job.Webhook, 1)
	b.cancel(sent)
	b.settle(job.Webhook, engine.Settlement{ID: sent, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)})
	if got := b.cancel(sent); got != engine.CancelFinished {
		b.t.Errorf("finished: %v", got)
	}
	if got := b.cancel(b.id(webhook)); got != engine.CancelNotFound {
		b.t.Errorf("unknown: %v", got)
	}
}

func (b *fixture) move(id job.ID, due int64) engine.Moved {
	b.t.Helper()
	body := b.info(id).Body
	return b.moveAs(engine.Move{ID: id, DueMs: due, Observed: body, Body: body})
}

func (b *fixture) moveAs(m engine.Move) engine.Moved {
	b.t.Helper()
	got, err := b.Queue.Reschedule(b.t.Context(), m)
	if err != nil {
		b.t.Fatalf("reschedule: %v", err)
	}
	return got
}

func (b *fixture) revive(x engine.Revival, delay time.Duration, more ...engine.Revival) []bool {
	b.t.Helper()
	answers, err := b.Queue.RetryFailed(b.t.Context(), append([]engine.Revival{x}, more...), delay)
	if err != nil {
		b.t.Fatalf("retry failed: %v", err)
	}
	return answers
}

func moves(b *fixture) {
	due := b.nowMs() + 60_000
	id := b.enqueue(webhook, 1, due)[0]
	if got := b.move(id, due+1); got != engine.MoveDone || b.info(id).DueMs != due+1 {
		b.t.Errorf("waiting: %v, due %d", got, b.info(id).DueMs)
	}
	if got := b.moveAs(engine.Move{ID: id, DueMs: 1, Observed: []byte("another body")}); got != engine.MoveChanged {
		b.t.Errorf("a stale look at the body: %v", got)
	}
	changed := engine.Move{ID: id, DueMs: due, Observed: b.info(id).Body, Body: []byte("moved")}
	for range 2 { // the second is a repeat after a lost reply
		if got := b.moveAs(changed); got != engine.MoveDone || string(b.info(id).Body) != "moved" {
			b.t.Errorf("moved with a new body: %v", got)
		}
	}
	b.move(id, 1)
	c := b.claim(job.Webhook, 1)
	if len(c.Jobs) != 1 {
		b.t.Fatal("a job moved to the past runs now")
	}
	if got := b.move(id, due); got != engine.MoveTooLate {
		b.t.Errorf("running: %v", got)
	}
	b.settle(job.Webhook, engine.Settlement{ID: id, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)})
	if got := b.move(id, due); got != engine.MoveTooLate {
		b.t.Errorf("failed: %v", got)
	}
	if got := b.move(b.id(webhook), due); got != engine.MoveNotFound {
		b.t.Errorf("unknown: %v", got)
	}
}

func (b *fixture) fail(l job.Lane) job.ID {
	b.t.Helper()
	id := b.enqueue(l, 1, 0)[0]
	c := b.claim(l.Channel, 1)
	b.settle(l.Channel, engine.Settlement{ID: id, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)})
	return id
}

func revival(b *fixture) {
	id := b.fail(webhook)
	revive := func(body string, observed []byte) bool {
		b.t.Helper()
		return b.revive(engine.Revival{ID: id, Body: []byte(body), Observed: observed}, job.RevivalDelay)[0]
	}
	if revive("again", []byte("another death")) {
		b.t.Error("a stale observation revived the job")
	}
	before := b.nowMs()
	for range 2 { // the second is a repeat after a lost reply
		if !revive("again", record(job.Failed)) {
			b.t.Error("a failed job is revived, and so is it by the repeat")
		}
	}
	s := b.wantPlace(id, engine.PlaceLane)
	if wait := s.DueMs - before; wait < 120_000 || wait > 121_000 || string(s.Body) != "again" {
		b.t.Errorf("waits %d ms with body %q", wait, s.Body)
	}
	if revive("third", record(job.Failed)) {
		b.t.Error("a waiting job is not failed")
	}
}

// A list longer than one script call is processed in order, each job independently.
func revivals(b *fixture) {
	var list []engine.Revival
	var want []bool
	for i := range 300 {
		id := b.id(webhook)
		if failed := i%100 == 7; failed {
			id = b.fail(webhook)
		}
		list = append(list, engine.Revival{ID: id, Body: []byte("again"), Observed: record(job.Failed)})
		want = append(want, i%100 == 7)
	}
	if diff := cmp.Diff(want, b.revive(list[0], time.Hour, list[1:]...)); diff != "" {
		b.t.Errorf("revived (-want +got):\n%s", diff)
	}
}

// resolution checks that Resolve replaces the record of an unknown job only if it is the observed one, and that a
// repeat creates no second callback.
func resolution(b *fixture) {
	for _, sent := range []bool{true, false} {
		id := b.enqueue(webhook, 1, 0)[0]
		c := b.claim(job.Webhook, 1)
		b.settle(job.Webhook, engine.Settlement{ID: id, Token: c.Token, Op: engine.OpUnknown, Payload: record(job.Unknown)})
		state := map[bool]job.State{true: job.Finished, false: job.Failed}[sent]
		x := engine.Resolution{ID: id, Observed: []byte("another end"), Record: record(state), Sent: sent,
			Callbacks: []engine.NewJob{b.child()}}
		b.wantResolved(x, false)
		x.Observed = record(job.Unknown)
		b.wantResolved(x, true)
		b.wantResolved(x, true) // a repeat after a lost reply
		if s := b.wantPlace(id, engine.PlaceResult); !same(s.Record, record(state)) || b.dead()[id] == sent {
			b.t.Errorf("sent %v: record %q, kept dead %v", sent, s.Record, b.dead()[id])
		}
		if got := len(b.claim(job.Callback, 9).Jobs); got != 1 {
			b.t.Errorf("%d callbacks of the resolved job, want 1", got)
		}
	}
}

func (b *fixture) wantResolved(x engine.Resolution, want bool) {
	b.t.Helper()
	if got, err := b.Queue.Resolve(b.t.Context(), x); got != want || err != nil {
		b.t.Errorf("resolved %v, %v, want %v", got, err, want)
	}
}

func trimming(b *fixture) {
	first, second := b.fail(webhook), b.fail(webhook)
	list, err := b.Queue.Browse(b.t.Context(), engine.Range{List: engine.ListDead, Flow: engine.AllFlows, Until: b.nowMs()}, engine.Member{}, 10)
	if err != nil || len(list) != 2 {
		b.t.Fatalf("dead: %d, %v", len(list), err)
	}
	stale := engine.Member{ID: second, Time: list[1].Time - 1}
	went, err := b.Queue.TrimDead(b.t.Context(), 0, []engine.Member{list[0], stale})
	if err != nil || went != 1 {
		b.t.Errorf("trimmed %d, %v", went, err)
	}
	b.wantPlace(first, engine.PlaceNone)
	b.wantPlace(second, engine.PlaceResult)
}
