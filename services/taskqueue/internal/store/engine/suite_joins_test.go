package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// window enqueues one job of a window and returns the id of the job that represents it.
func (b *fixture) window(w engine.Window, body []byte, due int64) (job.ID, error) {
	b.t.Helper()
	accepted, err := b.Queue.Enqueue(b.t.Context(), engine.Batch{
		IdempotencyKey: string(b.id(webhook)),
		RequestHash:    "h",
		KeepKey:        time.Minute,
		Jobs:           []engine.NewJob{{ID: b.id(webhook), DueMs: due, Body: body, Window: &w}},
	})
	if err != nil {
		return "", err
	}
	return accepted.IDs[0], nil
}

func (b *fixture) join(key string, due int64) job.ID {
	b.t.Helper()
	return must(b.t)(b.window(engine.Window{Key: key}, (&job.Body{Task: 4}).Encode(nil), due))
}

// A window expires some time after its job is due. Moving the job moves the expiry.
func movedWindow(b *fixture) {
	due := b.nowMs() + 200
	first := b.join("moved", due)
	body := b.info(first).Body
	m := engine.Move{ID: first, DueMs: due + 60_000, Observed: body, Body: body, Window: "moved"}
	if got := b.moveAs(m); got != engine.MoveDone {
		b.t.Fatal(got)
	}
	b.Advance(suiteSettings().WindowKeepAfter + 300*time.Millisecond)
	if id := b.join("moved", due); id != first {
		b.t.Error("the window of a job that waits was forgotten")
	}
}

func leftWindow(b *fixture) {
	later := b.nowMs() + 60_000
	run := func(key string) (job.ID, engine.Claim) {
		id := b.join(key, 0)
		return id, b.claim(job.Webhook, 1)
	}
	retried, c := run("retried")
	b.settle(job.Webhook, engine.Settlement{ID: retried, Token: c.Token, Op: engine.OpRetry, Delay: time.Hour,
		Payload: []byte("v2"), Window: "retried"})
	if b.join("retried", later) == retried {
		b.t.Error("a job that waits for its retry was joined")
	}
	postponed, c := run("postponed")
	b.settle(job.Webhook, engine.Settlement{ID: postponed, Token: c.Token, Op: engine.OpRelease, Delay: time.Hour})
	if b.join("postponed", later) != postponed {
		b.t.Error("a job that never ran was not joined")
	}
	revived, c := run("revived")
	b.settle(job.Webhook, engine.Settlement{ID: revived, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)})
	x := engine.Revival{ID: revived, Body: []byte("again"), Observed: record(job.Failed), Window: "revived"}
	b.revive(x, time.Hour)
	if b.join("revived", later) == revived {
		b.t.Error("a revived job was joined")
	}
}

func windows(b *fixture) {
	due := b.nowMs() + 700
	open := func(seen job.ID, body string, due int64, override bool) (job.ID, error) {
		return b.window(engine.Window{Key: "w", Seen: seen, Override: override}, []byte(body), due)
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
