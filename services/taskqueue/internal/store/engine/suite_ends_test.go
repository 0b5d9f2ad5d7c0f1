package engine_test

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func (b *fixture) oldestEnds() engine.Ends {
	b.t.Helper()
	e, err := b.Queue.OldestEnds(b.t.Context(), 0, 100)
	if err != nil {
		b.t.Fatalf("oldest ends: %v", err)
	}
	return e
}

func ends(b *fixture) {
	b.enqueue(webhook, 3, 0)
	cancelled := b.enqueue(webhook, 1, b.nowMs()+60_000)[0]
	c := b.claim(job.Webhook, 3)
	b.settle(job.Webhook,
		engine.Settlement{ID: c.Jobs[0].ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)},
		engine.Settlement{ID: c.Jobs[1].ID, Token: c.Token, Op: engine.OpDrop},
		engine.Settlement{ID: c.Jobs[2].ID, Token: c.Token, Op: engine.OpFail, Payload: record(job.Failed)})
	b.cancel(cancelled)
	first := b.oldestEnds()
	if diff := cmp.Diff([]job.ID{c.Jobs[0].ID, c.Jobs[2].ID, cancelled}, first.IDs); diff != "" {
		b.t.Errorf("ends (-want +got):\n%s", diff)
	}
	later := b.fail(webhook)
	for try, want := range []bool{true, false} { // the second is another process, or a repeat after a lost reply
		if went, err := b.Queue.TrimEnds(b.t.Context(), 0, first); went != want || err != nil {
			b.t.Errorf("try %d: %v, %v", try, went, err)
		}
	}
	if diff := cmp.Diff([]job.ID{later}, b.oldestEnds().IDs); diff != "" {
		b.t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

func howEnded(b *fixture) {
	b.enqueue(webhook, 1, 0)
	c := b.claim(job.Webhook, 1)
	finished, failed, waiting := c.Jobs[0].ID, b.fail(webhook), b.enqueue(webhook, 1, 0)[0]
	b.settle(job.Webhook,
		engine.Settlement{ID: finished, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)})
	got, err := b.Queue.HowEnded(b.t.Context(), []job.ID{waiting, failed, b.id(webhook), finished})
	if err != nil || len(got) != 4 || got[0].Record != nil || got[2].Record != nil {
		b.t.Fatalf("%+v, %v", got, err)
	}
	if !got[1].Dead || !same(got[1].Record, record(job.Failed)) ||
		got[3].Dead || !same(got[3].Record, record(job.Finished)) {
		b.t.Errorf("a failed job ended as %+v, a finished one as %+v", got[1], got[3])
	}
	if got, err = b.Queue.HowEnded(b.t.Context(), nil); err != nil || len(got) != 0 {
		b.t.Errorf("of no jobs: %v, %v", got, err)
	}
}

func forgetting(b *fixture) {
	b.enqueue(webhook, 1, 0)
	c := b.claim(job.Webhook, 1)
	finished, failed := c.Jobs[0].ID, b.fail(webhook)
	end := engine.Settlement{ID: finished, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)}
	b.settle(job.Webhook, end)
	waiting := b.enqueue(webhook, 1, 0)[0]
	for range 2 {
		if err := b.Queue.ForgetResults(b.t.Context(), []job.ID{finished, failed, waiting}); err != nil {
			b.t.Fatal(err)
		}
	}
	b.wantPlace(finished, engine.PlaceNone)
	b.wantPlace(failed, engine.PlaceResult) // kept for retryTask
	b.wantPlace(waiting, engine.PlaceLane)
	if err := b.Queue.ForgetResults(b.t.Context(), nil); err != nil {
		b.t.Error(err)
	}
}

func fullEnds(b *fixture) {
	limit := suiteSettings().EndsLimit
	b.enqueue(webhook, limit+20, 0)
	for done := 0; done < limit; {
		c := b.claim(job.Webhook, 200)
		var list []engine.Settlement
		for _, j := range c.Jobs {
			list = append(list, engine.Settlement{ID: j.ID, Token: c.Token, Op: engine.OpSucceed, Payload: record(job.Finished)})
		}
		b.settle(job.Webhook, list...)
		done += len(list)
	}
	b.acceptFlow(job.LabFlow(12))
	password := b.acceptFlow(job.OTPFlow(12))
	c := b.claim(job.Webhook, 200)
	if len(c.Jobs) != 21 || !slices.ContainsFunc(c.Jobs, func(j engine.Leased) bool { return j.ID == password }) {
		b.t.Errorf("%d jobs are claimed, want those of old versions and the one-time password", len(c.Jobs))
	}
	if !c.Held {
		b.t.Error("the claim does not tell that jobs wait")
	}
	if _, err := b.Queue.TrimEnds(b.t.Context(), 0, b.oldestEnds()); err != nil {
		b.t.Fatal(err)
	}
	if c = b.claim(job.Webhook, 200); len(c.Jobs) != 1 {
		b.t.Errorf("%d jobs are claimed after some ends were archived, want 1", len(c.Jobs))
	}
}

func pausedFlows(b *fixture) {
	first, second := b.acceptFlow(job.LabFlow(11)), b.acceptFlow(job.LabFlow(12))
	request := engine.ClaimRequest{Channel: job.Webhook, Max: 5,
		Limits: &engine.Limits{Ordinary: 5, EachOrdinary: 5, EachReserved: 5,
			Flows: map[job.Flow]int{job.LabFlow(11): engine.FlowPaused}}}
	c, err := b.Queue.Claim(b.t.Context(), request)
	if err != nil || len(c.Jobs) != 1 || c.Jobs[0].ID != second || c.Held {
		b.t.Errorf("claimed %v, held %v, %v, want the job of the other laboratory", c.Jobs, c.Held, err)
	}
	b.wantPlace(first, engine.PlaceLane)
	if c = b.claim(job.Webhook, 5); len(c.Jobs) != 1 || c.Jobs[0].ID != first {
		b.t.Errorf("claimed %v after the pause, want %s", c.Jobs, first)
	}
}

// acceptFlow enqueues a webhook of a flow.
func (b *fixture) acceptFlow(flow job.Flow) job.ID {
	b.t.Helper()
	id := b.id(webhook)
	body := (&job.Body{Task: 4, LabID: 12, Flow: flow}).Encode(nil)
	b.accept(engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute,
		Jobs: []engine.NewJob{{ID: id, Flow: flow, Body: body}}})
	return id
}
