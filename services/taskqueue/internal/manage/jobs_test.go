package manage_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// desk is a Jobs on the in-memory engine.
type desk struct {
	*manage.Jobs
	t     *testing.T
	queue *enginetest.Model
	ids   *job.Generator
}

var everybody = task.Caller{Internal: true}

func now() time.Time { return clock.System{}.Now() }

func newDesk(t *testing.T) *desk {
	set := engine.DefaultSettings()
	d := &desk{t: t, queue: enginetest.New(clock.System{}, set), ids: job.NewGenerator(clock.System{})}
	d.Jobs = &manage.Jobs{Queue: d.queue, Lease: set.Lease, Clock: clock.System{}, IDs: d.ids}
	return d
}

func (d *desk) enqueue(b *job.Body, due time.Time) job.ID {
	d.t.Helper()
	id := d.ids.Next(0, job.Lane{Channel: job.SMS, Priority: job.High})
	_, err := d.queue.Enqueue(d.t.Context(), engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute,
		Jobs: []engine.NewJob{{ID: id, DueMs: due.UnixMilli(), Body: b.Encode(nil)}}})
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

// end runs a due job and ends it with a record of the given state.
func (d *desk) end(op engine.Op, state job.State, b *job.Body) job.ID {
	d.t.Helper()
	id := d.enqueue(b, now())
	c, err := d.queue.Claim(d.t.Context(), engine.ClaimRequest{Channel: job.SMS, Max: 1})
	if err != nil || len(c.Jobs) != 1 {
		d.t.Fatal(len(c.Jobs), err)
	}
	r := job.RecordOf(b, state, now().UnixMilli())
	list := []engine.Settlement{{ID: id, Token: c.Token, Op: op, Payload: r.Encode(nil)}}
	if _, err := d.queue.Settle(d.t.Context(), 0, job.SMS, list); err != nil {
		d.t.Fatal(err)
	}
	return id
}

func (d *desk) info(id job.ID) engine.Snapshot {
	d.t.Helper()
	list, err := d.queue.Info(d.t.Context(), []job.ID{id})
	if err != nil {
		d.t.Fatal(err)
	}
	return list[0]
}

func TestAMovedOneTimePasswordExpiresByItsNewTime(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	due := now().Add(time.Hour).Truncate(time.Second)
	id := d.enqueue(&job.Body{Task: 1, TaskType: 1, ScheduledMs: due.UnixMilli(), ExpiresMs: due.Add(5 * time.Minute).UnixMilli()}, due)
	for _, later := range []time.Duration{50 * time.Minute, 10 * time.Minute} {
		at := now().Add(later).Truncate(time.Second)
		if moved, err := d.Reschedule(t.Context(), everybody, string(id), at); !moved || err != nil {
			t.Fatal(moved, err)
		}
		b, err := job.DecodeBody(d.info(id).Body)
		if err != nil || b.ExpiresMs != at.Add(5*time.Minute).UnixMilli() || b.ScheduledMs != at.UnixMilli() {
			t.Errorf("moved by %v: expires %v after the new time, %v", later, time.UnixMilli(b.ExpiresMs).Sub(at), err)
		}
	}
}

// TestAPasswordThatWaitsForItsProviderIsMovedWithItsExpiry: while its provider is paused, a password waits in its lane
// until it expires. Moved to the next minute, it must be valid when it runs.
func TestAPasswordThatWaitsForItsProviderIsMovedWithItsExpiry(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	accepted := now().Truncate(time.Second)
	expires := accepted.Add(5 * time.Minute)
	id := d.enqueue(&job.Body{Task: 1, TaskType: 1, CreatedMs: accepted.UnixMilli(), ExpiresMs: expires.UnixMilli()}, expires)
	at := accepted.Add(time.Minute)
	if moved, err := d.Reschedule(t.Context(), everybody, string(id), at); !moved || err != nil {
		t.Fatal(moved, err)
	}
	b, err := job.DecodeBody(d.info(id).Body)
	if left := time.UnixMilli(b.ExpiresMs).Sub(at); err != nil || left != 5*time.Minute {
		t.Errorf("expires %v after the new time, %v; want 5m", left, err)
	}
	for range 2 { // a time in the past means now, and adds nothing to the validity
		if moved, err := d.Reschedule(t.Context(), everybody, string(id), accepted.Add(-time.Hour)); !moved || err != nil {
			t.Fatal(moved, err)
		}
	}
	b, err = job.DecodeBody(d.info(id).Body)
	if left := time.UnixMilli(b.ExpiresMs).Sub(now()); err != nil || left > 5*time.Minute || left < 4*time.Minute {
		t.Errorf("expires in %v, %v; want 5m", left, err)
	}
}

func TestAMoveHasTheHorizonOfASchedule(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, c := range map[string]struct {
		body    job.Body
		horizon time.Duration
	}{
		"a message":           {job.Body{Task: 1}, task.Horizon},
		"a one-time password": {job.Body{Task: 1, ExpiresMs: now().Add(2 * time.Hour).UnixMilli()}, task.PasswordHorizon},
	} {
		id := d.enqueue(&c.body, now().Add(time.Hour))
		before := d.info(id)
		if moved, err := d.Reschedule(t.Context(), everybody, string(id), now().Add(c.horizon+time.Hour)); moved || err == nil {
			t.Errorf("%s: %v, %v", name, moved, err)
		}
		if after := d.info(id); after.DueMs != before.DueMs || !bytes.Equal(after.Body, before.Body) {
			t.Errorf("%s: a refused move changed the job", name)
		}
	}
}

// overriding is a fake queue in which the job is overridden before each of the first moves.
type overriding struct {
	*enginetest.Model
	left int
}

func (o *overriding) Reschedule(ctx context.Context, m engine.Move) (engine.Moved, error) {
	if o.left > 0 {
		o.left--
		return engine.MoveChanged, nil
	}
	return o.Model.Reschedule(ctx, m)
}

func TestAMoveThatLosesAgainstAnOverrideLooksAgain(t *testing.T) {
	t.Parallel()
	for left, want := range map[int]bool{3: true, 1000: false} {
		d := newDesk(t)
		d.Queue = &overriding{Model: d.queue, left: left}
		id := d.enqueue(&job.Body{Task: 1}, now().Add(time.Hour))
		if moved, err := d.Reschedule(t.Context(), everybody, string(id), now().Add(2*time.Hour)); moved != want || (err == nil) != want {
			t.Errorf("after %d overrides: %v, %v", left, moved, err)
		}
	}
}

func TestRetryTaskSaysTheSameWhenItIsRepeated(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	failed, alive := d.end(engine.OpFail, job.Failed, &job.Body{Attempts: 2}), d.enqueue(&job.Body{Task: 1}, now().Add(time.Hour))
	ids := []string{string(failed), string(alive)}
	for range 2 {
		got, err := d.RetryFailed(t.Context(), everybody, ids)
		if err != nil || !cmp.Equal(got.Done, ids[:1]) || !cmp.Equal(got.Others, ids[1:]) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if b, err := job.DecodeBody(d.info(failed).Body); err != nil || b.Nonce != 1 || b.Attempts != 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestAnOperatorEndsUnknownJobs(t *testing.T) {
	t.Parallel()
	for sent, want := range map[bool]string{true: "finished 1 0 callbacks 2", false: "failed 1 1 callbacks 2"} {
		d := newDesk(t)
		b := &job.Body{Attempts: 1, History: []job.Attempt{{Error: "no answer"}}, Subscribe: "https://a.example/s",
			OnSuccess: "https://a.example/ok", OnFailure: "https://a.example/bad"}
		id := d.end(engine.OpUnknown, job.Unknown, b)
		failed := d.end(engine.OpFail, job.Failed, &job.Body{})
		ids := []string{string(id), string(failed), "nothing"}
		resolved, err := d.Resolve(t.Context(), everybody, ids, sent)
		if err != nil || !cmp.Equal(resolved.Done, ids[:1]) || !cmp.Equal(resolved.Others, ids[1:]) {
			t.Fatalf("%+v, %v", resolved, err)
		}
		r, err := job.DecodeRecord(d.info(id).Record)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.queue.Claim(t.Context(), engine.ClaimRequest{Channel: job.Callback, Max: 9})
		if got := fmt.Sprintf("%s %d %d callbacks %d", r.State, r.Attempts, len(r.History), len(c.Jobs)); got != want || err != nil {
			t.Errorf("sent %v: %s, want %s, %v", sent, got, want, err)
		}
		if again, err := d.Resolve(t.Context(), everybody, ids[:1], !sent); len(again.Done) != 0 || err != nil {
			t.Errorf("resolved twice: %v, %v", again, err)
		}
		revived, err := d.RetryFailed(t.Context(), everybody, ids[:1])
		if (len(revived.Done) == 1) == sent || err != nil {
			t.Errorf("sent %v: revived %v, %v", sent, revived, err)
		}
	}
}
