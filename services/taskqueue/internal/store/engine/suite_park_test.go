package engine_test

import (
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

var parkedGroup = engine.Group{Channel: job.Webhook, Flow: job.LabFlow(12), To: "to:12 https://a.example.com:443 1"}

// park claims all ready webhooks, parks them for an hour and returns them.
func (b *fixture) park() []job.ID {
	b.t.Helper()
	var list []engine.Settlement
	var ids []job.ID
	c := b.claim(job.Webhook, 100)
	for _, one := range c.Jobs {
		ids = append(ids, one.ID)
		list = append(list, engine.Settlement{ID: one.ID, Token: c.Token, Op: engine.OpRelease, Flow: parkedGroup.Flow,
			To: parkedGroup.To, Delay: time.Hour})
	}
	b.settle(job.Webhook, list...)
	return ids
}

func (b *fixture) unpark(most int) int {
	b.t.Helper()
	went, err := b.Queue.Unpark(b.t.Context(), 0, parkedGroup, most)
	if err != nil {
		b.t.Fatal(err)
	}
	return went
}

// Jobs of all priorities are parked for one receiver. Jobs that change meanwhile are not released.
func parking(b *fixture) {
	for p := job.Low; p <= job.High; p++ {
		b.enqueue(lane(job.Webhook, p), 2, 0)
	}
	ids := b.park()
	groups, err := b.Queue.Groups(b.t.Context(), 0)
	if err != nil || len(groups) != 1 || groups[0] != parkedGroup || len(ids) != 6 {
		b.t.Fatalf("%d jobs, groups %v, %v", len(ids), groups, err)
	}
	if c := b.claim(job.Webhook, 100); len(c.Jobs) != 0 {
		b.t.Fatalf("%d parked jobs are claimed", len(c.Jobs))
	}
	if _, err := b.Queue.Cancel(b.t.Context(), []engine.Cancellation{{ID: ids[0], Record: record(job.Cancelled)}}); err != nil {
		b.t.Fatal(err)
	}
	body := b.info(ids[1]).Body
	tomorrow := engine.Move{ID: ids[1], DueMs: b.nowMs() + 24*time.Hour.Milliseconds(), Observed: body, Body: body}
	if moved, err := b.Queue.Reschedule(b.t.Context(), tomorrow); err != nil || moved != engine.MoveDone {
		b.t.Fatal(moved, err)
	}
	if went := b.unpark(1); went != 1 {
		b.t.Errorf("%d go for a trial", went)
	}
	if c := b.claim(job.Webhook, 100); len(c.Jobs) != 1 {
		b.t.Errorf("%d are claimed for it", len(c.Jobs))
	}
	if went := b.unpark(100); went != 3 {
		b.t.Errorf("%d of the others go", went)
	}
	if c := b.claim(job.Webhook, 100); len(c.Jobs) != 3 {
		b.t.Errorf("%d of them are claimed", len(c.Jobs))
	}
	if s := b.wantPlace(ids[1], engine.PlaceLane); s.DueMs != tomorrow.DueMs {
		b.t.Error("a job that its user moved to tomorrow is due with the parked ones")
	}
	if groups, err = b.Queue.Groups(b.t.Context(), 0); err != nil || len(groups) != 0 {
		b.t.Errorf("groups %v, %v", groups, err)
	}
}

// A parked job that is not released becomes due by itself. Afterwards its group no longer affects it.
func parkedUntilItsPatienceEnds(b *fixture) {
	b.enqueue(lane(job.Webhook, job.High), 1, 0)
	c := b.claim(job.Webhook, 1)
	retry := engine.Settlement{ID: c.Jobs[0].ID, Token: c.Token, Op: engine.OpRetry, Payload: c.Jobs[0].Raw, To: parkedGroup.To,
		Flow: parkedGroup.Flow, Delay: 50 * time.Millisecond}
	b.settle(job.Webhook, retry)
	b.Advance(60 * time.Millisecond)
	again := b.claim(job.Webhook, 1)
	if len(again.Jobs) != 1 {
		b.t.Fatal("no one claims it")
	}
	b.settle(job.Webhook, engine.Settlement{ID: retry.ID, Token: again.Token, Op: engine.OpRetry, Payload: retry.Payload,
		Flow: parkedGroup.Flow, Delay: time.Hour})
	if went := b.unpark(1); went != 0 || b.info(retry.ID).Place != engine.PlaceLane {
		b.t.Error("it goes although it waits for its own retry")
	}
}

func holding(b *fixture) {
	q, to := b.Queue, parkedGroup.To
	try := func() time.Duration {
		wait, err := q.TryHeld(b.t.Context(), to, time.Hour)
		if err != nil {
			b.t.Fatal(err)
		}
		return wait
	}
	if wait := try(); wait != 0 {
		b.t.Errorf("what no one holds is tried in %v", wait)
	}
	if err := q.Hold(b.t.Context(), to, 200*time.Millisecond); err != nil {
		b.t.Fatal(err)
	}
	if wait := try(); wait <= 0 || wait > 200*time.Millisecond {
		b.t.Errorf("it is tried in %v", wait)
	}
	b.Advance(210 * time.Millisecond)
	if first, second := try(), try(); first != 0 || second <= 50*time.Minute {
		b.t.Errorf("the first one waits %v, the second one %v", first, second)
	}
	h, err := q.Holds(b.t.Context())
	if one := h.Held[to]; err != nil || len(h.Held) != 1 || one.SinceMs > h.NowMs || one.UntilMs < h.NowMs+time.Minute.Milliseconds() {
		b.t.Errorf("%+v, %v", h, err)
	}
	if err := q.FreeHeld(b.t.Context(), to); err != nil || try() != 0 {
		b.t.Error("it is paused after all", err)
	}
}
