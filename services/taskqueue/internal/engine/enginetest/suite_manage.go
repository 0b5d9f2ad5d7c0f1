package enginetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func (b *bench) cancel(id job.ID, children ...engine.NewJob) engine.Cancelled {
	b.t.Helper()
	answers, err := b.Queue.Cancel(
		b.t.Context(),
		[]engine.Cancellation{{ID: id, Record: record(job.Cancelled), Callbacks: children}},
	)
	if err != nil {
		b.t.Fatalf("cancel: %v", err)
	}
	return answers[0]
}

func cancels(b *bench) {
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
	b.settle(
		job.Webhook,
		engine.Settlement{ID: running, Token: c.Token, Op: engine.OpCancel, Payload: record(job.Cancelled)},
	)
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

func (b *bench) move(id job.ID, due int64) engine.Moved {
	b.t.Helper()
	got, err := b.Queue.Reschedule(b.t.Context(), id, due)
	if err != nil {
		b.t.Fatalf("reschedule: %v", err)
	}
	return got
}

func moves(b *bench) {
	due := b.nowMs() + 60_000
	id := b.enqueue(webhook, 1, due)[0]
	if got := b.move(id, due+1); got != engine.MoveDone || b.info(id).DueMs != due+1 {
		b.t.Errorf("waiting: %v, due %d", got, b.info(id).DueMs)
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

func (b *bench) fail(l job.Lane) job.ID {
	b.t.Helper()
	id := b.enqueue(l, 1, 0)[0]
	c := b.claim(l.Channel, 1)
	b.settle(l.Channel, engine.Settlement{ID: id, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)})
	return id
}

func revival(b *bench) {
	id := b.fail(webhook)
	revive := func(body string, observed []byte) bool {
		b.t.Helper()
		ok, err := b.Queue.RetryFailed(b.t.Context(), id, []byte(body), observed, job.RevivalDelay)
		if err != nil {
			b.t.Fatalf("retry failed: %v", err)
		}
		return ok
	}
	if revive("again", []byte("another death")) {
		b.t.Error("a stale observation revived the job")
	}
	before := b.nowMs()
	for range 2 { // the second is a repeat after a lost reply
		if !revive("again", record(job.Failed)) {
			b.t.Error("a failed job is revived, and the repeat says so too")
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

func trimming(b *bench) {
	first, second := b.fail(webhook), b.fail(webhook)
	list, total, err := b.Queue.OldestDead(b.t.Context(), 0, b.nowMs(), 10)
	if err != nil || total != 2 || len(list) != 2 {
		b.t.Fatalf("dead: %d of %d, %v", len(list), total, err)
	}
	stale := engine.Dead{ID: second, DiedMs: list[1].DiedMs - 1}
	went, err := b.Queue.TrimDead(b.t.Context(), 0, []engine.Dead{list[0], stale})
	if err != nil || went != 1 {
		b.t.Errorf("trimmed %d, %v", went, err)
	}
	b.wantPlace(first, engine.PlaceNone)
	b.wantPlace(second, engine.PlaceResult)
}

func (b *bench) oldestEnds() engine.Ends {
	b.t.Helper()
	e, err := b.Queue.OldestEnds(b.t.Context(), 0, 100)
	if err != nil {
		b.t.Fatalf("oldest ends: %v", err)
	}
	return e
}

func ends(b *bench) {
	b.enqueue(webhook, 3, 0)
	cancelled := b.enqueue(webhook, 1, b.nowMs()+60_000)[0]
	c := b.claim(job.Webhook, 3)
	b.settle(
		job.Webhook,
		engine.Settlement{ID: c.Jobs[0].ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)},
		engine.Settlement{ID: c.Jobs[1].ID, Token: c.Token, Op: engine.OpDrop},
		engine.Settlement{ID: c.Jobs[2].ID, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)},
	)
	b.cancel(cancelled)
	first := b.oldestEnds()
	if diff := cmp.Diff([]job.ID{c.Jobs[0].ID, c.Jobs[2].ID, cancelled}, first.IDs); diff != "" {
		b.t.Errorf("ends (-want +got):\n%s", diff)
	}
	later := b.fail(webhook)
	for try, want := range []bool{true, false} { // the second is somebody slower, or a repeat after a lost reply
		if went, err := b.Queue.TrimEnds(b.t.Context(), 0, first); went != want || err != nil {
			b.t.Errorf("try %d: %v, %v", try, went, err)
		}
	}
	if diff := cmp.Diff([]job.ID{later}, b.oldestEnds().IDs); diff != "" {
		b.t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

func windows(b *bench) {
	due := b.nowMs() + 700
	open := func(seen job.ID, body string, due int64, override bool) (job.ID, error) {
		accepted, err := b.Queue.Enqueue(
			b.t.Context(),
			engine.Batch{
				IdempotencyKey: string(b.id(webhook)),
				RequestHash:    "h",
				KeepKey:        time.Minute,
				Jobs: []engine.NewJob{
					{
						ID:     b.id(webhook),
						DueMs:  due,
						Body:   []byte(body),
						Window: &engine.Window{Key: "w", Seen: seen, Override: override},
					},
				},
			},
		)
		if err != nil {
			return "", err
		}
		return accepted.IDs[0], nil
	}
	first := must(b.t)(open("", "one", due, false))
	if seen := must(b.t)(b.Queue.LookupWindow(b.t.Context(), 0, "w")); seen != first {
		b.t.Errorf("the window holds %q, want %q", seen, first)
	}
	if _, err := open("", "stale", due, true); !errors.Is(err, engine.ErrWindowChanged) {
		b.t.Errorf("a stale look at the window: %v", err)
	}
	if joined := must(b.t)(open("", "two", due+9999, false)); joined != first {
		b.t.Errorf("join returned %q, want %q", joined, first)
	}
	if s := b.info(first); string(s.Body) != "one" || s.DueMs != due {
		b.t.Errorf("a join changed the job: %q, due %d", s.Body, s.DueMs-due)
	}
	if id := must(b.t)(open(first, "three", due+10, true)); id != first {
		b.t.Errorf("override returned %q, want %q", id, first)
	}
	if s := b.info(first); string(s.Body) != "three" || s.DueMs != due+10 {
		b.t.Errorf("override kept %q, due %d", s.Body, s.DueMs-due)
	}
	b.Advance(720 * time.Millisecond)
	claimed := b.claim(job.Webhook, 5)
	if len(claimed.Jobs) != 1 {
		b.t.Fatalf("claimed %d jobs, want the window's", len(claimed.Jobs))
	}
	if next := must(b.t)(open("", "four", due+60_000, false)); next == first {
		b.t.Error("a window whose job left its lane opens again")
	}
	if diff := cmp.Diff(engine.PlaceLease, b.info(first).Place); diff != "" {
		b.t.Errorf("place of the fired job (-want +got):\n%s", diff)
	}
}

func must(t *testing.T) func(job.ID, error) job.ID {
	return func(id job.ID, err error) job.ID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
}
