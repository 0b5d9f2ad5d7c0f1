package janitor_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// die runs a laboratory's job that fails permanently.
func (w *world) die(lab int64, size, shard int) job.ID {
	w.t.Helper()
	id := w.ids.Next(shard, job.Lane{Channel: job.SMS, Priority: job.High})
	one := engine.NewJob{ID: id, Flow: job.LabFlow(lab), Body: (&job.Body{LabID: lab, Data: make([]byte, size)}).Encode(nil)}
	batch := engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{one}}
	if _, err := w.queue.Enqueue(w.t.Context(), batch); err != nil {
		w.t.Fatal(err)
	}
	c, err := w.queue.Claim(w.t.Context(), engine.ClaimRequest{Shard: shard, Channel: job.SMS, Max: 1})
	if err != nil || len(c.Jobs) != 1 {
		w.t.Fatalf("%d jobs, %v", len(c.Jobs), err)
	}
	r := job.Record{State: job.Failed, LabID: lab}
	s := engine.Settlement{ID: id, Token: c.Token, Op: engine.OpFail, Payload: r.Encode(nil), Flow: one.Flow}
	if _, err := w.queue.Settle(w.t.Context(), shard, job.SMS, []engine.Settlement{s}); err != nil {
		w.t.Fatal(err)
	}
	w.clock.add(time.Millisecond)
	return id
}

func (w *world) kept(ids []job.ID) (n int) {
	for _, id := range ids {
		if w.place(id) == engine.PlaceResult {
			n++
		}
	}
	return n
}

// TestNobodyPushesOutWhatAnotherLaboratoryMayRetry: a laboratory with a broken receiver has thousands of dead letters.
// The few of another laboratory must be kept, although they are older.
func TestNobodyPushesOutWhatAnotherLaboratoryMayRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int
		cfg  janitor.Config
	}{
		"too many":  {10, janitor.Config{KeepDead: time.Hour, MaxDead: 300, MaxDeadBytes: 1 << 30}},
		"too large": {10 << 10, janitor.Config{KeepDead: time.Hour, MaxDead: 100_000, MaxDeadBytes: 300 * 10 << 10}},
	} {
		w := open(t)
		var few, many []job.ID
		for range 5 {
			few = append(few, w.die(1, 10, 3))
		}
		for i := range 1000 {
			many = append(many, w.die(2, c.size, i/600*7)) // the limits apply to all shards together
		}
		w.reap(c.cfg, nil)
		if kept := w.kept(few); kept != len(few) {
			t.Errorf("%s: %d of %d of the small laboratory are left", name, kept, len(few))
		}
		if kept := w.kept(many); kept < 280 || kept > 300 || w.place(many[0]) == engine.PlaceResult || w.place(many[600]) == engine.PlaceResult || w.place(many[999]) != engine.PlaceResult {
			t.Errorf("%s: %d of %d of the other one are left", name, kept, len(many))
		}
	}
}
