package enginetest

import (
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func ticks(b *bench) {
	tick := func(t engine.Tick) bool {
		b.t.Helper()
		done, err := b.Queue.Tick(b.t.Context(), t)
		if err != nil {
			b.t.Fatal(err)
		}
		return done
	}
	twice := func(t engine.Tick) bool { // the answer of the first call got lost
		first := tick(t)
		return tick(t) && first
	}
	l := lane(job.Webhook, job.Low)
	newJob := func() *engine.NewJob {
		return &engine.NewJob{ID: b.id(l), DueMs: b.nowMs(), Flow: job.LabFlow(12), Body: []byte("body")}
	}
	put := engine.Tick{Key: "k", Definition: []byte("v1")}
	if !twice(put) || tick(engine.Tick{Key: "k", Definition: []byte("other")}) {
		b.t.Error("a definition is put once, and its repeat says so")
	}
	first := engine.Tick{Key: "k", Observed: []byte("v1"), Definition: []byte("v2"), Job: newJob()}
	second := engine.Tick{Key: "k", Observed: []byte("v1"), Definition: []byte("v2 of another process"), Job: newJob()}
	if !twice(first) || tick(second) {
		b.t.Error("a tick is one job, whoever comes first")
	}
	b.wantPlace(first.Job.ID, engine.PlaceLane)
	b.wantPlace(second.Job.ID, engine.PlaceNone)
	c := b.claim(job.Webhook, 10)
	if len(c.Jobs) != 1 || c.Jobs[0].Flow != job.LabFlow(12) || string(c.Jobs[0].Raw) != "body" {
		b.t.Errorf("claimed %+v", c.Jobs)
	}
	if all, err := b.Queue.Periodic(b.t.Context()); err != nil || len(all) != 1 || string(all["k"]) != "v2" {
		b.t.Errorf("%q, %v", all, err)
	}
	late := engine.Tick{Key: "k", Observed: []byte("v2"), Definition: []byte("v3"), Job: newJob()}
	if !tick(engine.Tick{Key: "k", Observed: []byte("v2")}) || tick(late) {
		b.t.Error("what was deleted ticks no more")
	}
	b.Advance(time.Millisecond)
	if all, err := b.Queue.Periodic(b.t.Context()); err != nil || len(all) != 0 {
		b.t.Errorf("%q, %v", all, err)
	}
}
