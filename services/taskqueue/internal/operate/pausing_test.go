package operate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker/workertest"
)

func TestAPausedChannelIsNotClaimedFromAndALostClaimIsStillTold(t *testing.T) {
	t.Parallel()
	m, c := enginetest.New(clock.System{}, engine.DefaultSettings()), &claims{}
	pauses := operate.NewPauses(m)
	q := operate.Pausing(c, pauses)
	claim := func(doubt bool) {
		t.Helper()
		if _, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.SMS, Doubt: doubt}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.SMS}); err == nil || len(c.doubts) > 0 {
		t.Errorf("a claim although no one knows what is paused: %v", err)
	}
	know(t, pauses)
	claim(false)
	if err := m.Pause(t.Context(), engine.ChannelTarget(job.SMS), now()); err != nil {
		t.Fatal(err)
	}
	claim(false) // the pause has not been read yet
	know(t, pauses)
	claim(true)
	claim(false)
	if err := m.Resume(t.Context(), engine.ChannelTarget(job.SMS)); err != nil {
		t.Fatal(err)
	}
	know(t, pauses)
	claim(false)
	claim(false)
	if want := []bool{false, false, true, false}; !cmp.Equal(c.doubts, want) {
		t.Errorf("claims with doubt %v, want %v", c.doubts, want)
	}
}

func TestAPausedLaboratoryIsPassedByWhateverItHas(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.enqueue(job.SMS, 12, 40, 0)
		mine := d.enqueue(job.SMS, 13, 2, 0)
		if _, err := d.Pause(t.Context(), operate.Order{Operator: "a.rao", LabID: 12, Paused: true}); err != nil {
			t.Fatal(err)
		}
		pauses := operate.NewPauses(d.queue)
		know(t, pauses)
		q := operate.Pausing(workerQueue{d.queue}, pauses)
		claim := func() engine.Claim {
			t.Helper()
			c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.SMS, Max: 50})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := claim(); len(c.Jobs) != len(mine) || c.Held || c.Jobs[0].Flow != job.LabFlow(13) {
			t.Errorf("%d jobs are claimed, held %v, want those of the other laboratory", len(c.Jobs), c.Held)
		}
		if _, err := d.Pause(t.Context(), operate.Order{Operator: "a.rao", LabID: 12}); err != nil {
			t.Fatal(err)
		}
		if c := claim(); len(c.Jobs) != 0 {
			t.Errorf("%d jobs are claimed before the end of the pause is known", len(c.Jobs))
		}
		know(t, pauses)
		if c := claim(); len(c.Jobs) != 40 {
			t.Errorf("%d jobs are claimed after the pause, want 40", len(c.Jobs))
		}
	})
}

// TestAPausedLaboratoryStopsNoNoticesOfAnother: laboratories 12 and 1035 share the flow of urgent notices. A pause of the
// one must not stop the critical results of the other, and its own notices must follow when the pause ends.
func TestAPausedLaboratoryStopsNoNoticesOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := workertest.NewQueue()
		if job.UrgentFlow(12) != job.UrgentFlow(1035) {
			t.Fatal("the laboratories have flows of their own")
		}
		if err := m.Pause(t.Context(), engine.LabTarget(12), now()); err != nil {
			t.Fatal(err)
		}
		pauses := operate.NewPauses(m)
		know(t, pauses)
		sent := map[int64]time.Duration{}
		begin := time.Now()
		var jobs []*job.Body
		for _, lab := range []int64{12, 1035} {
			jobs = append(jobs, &job.Body{LabID: lab, Flow: job.UrgentFlow(lab), Data: []byte("{}")})
		}
		go func() {
			<-time.After(5 * time.Minute)
			_ = m.Resume(t.Context(), engine.LabTarget(12))
			know(t, pauses)
		}()
		h := operate.Waiting(handling(func(d worker.Delivery) { sent[d.Body.LabID] = time.Since(begin) }), pauses)
		workertest.DeliverBy(t, m, operate.Pausing(m, pauses), h, job.Push, jobs, 6*time.Minute)
		if sent[1035] > time.Second || sent[12] < 5*time.Minute || sent[12] > 5*time.Minute+5*time.Second {
			t.Errorf("sent after %v, want the one at once and the other after the pause of five minutes", sent)
		}
	})
}

// handling is a handler that succeeds.
type handling func(worker.Delivery)

func (h handling) Handle(_ context.Context, d worker.Delivery) (job.Result, error) {
	h(d)
	return job.Result{Sent: true}, nil
}

// workerQueue is an engine without wake-ups.
type workerQueue struct{ queue }

func (workerQueue) WaitBell(context.Context, int, job.Channel, time.Duration) error { return nil }

// halfDead is an engine in which only the last shard responds.
type halfDead struct{ *enginetest.Model }

func (h halfDead) Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error) {
	if shard < job.Shards-1 {
		return nil, errAway
	}
	return h.Model.Paused(ctx, shard)
}

func TestAPausedReceiverIsKnownFromWhicheverShardAnswers(t *testing.T) {
	t.Parallel()
	m := enginetest.New(clock.System{}, engine.DefaultSettings())
	pauses := operate.NewPauses(halfDead{m})
	const origin = "https://told.example"
	if err := m.Pause(t.Context(), engine.ReceiverTarget(origin), now()); err != nil {
		t.Fatal(err)
	}
	if pauses.Receiver(origin) {
		t.Error("the pause is known before anybody asked")
	}
	know(t, pauses)
	if !pauses.Receiver(origin) || pauses.Receiver("https://other.example") {
		t.Error("want the paused receiver, and only it, paused")
	}
}

func TestWhatCannotBePaused(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]operate.Order{
		"name one thing":       {},
		"one thing that":       {Channel: "sms", LabID: 12},
		"no channel fax":       {Channel: "fax"},
		"channels are sms, em": {Channel: "fax "},
		"number above 0":       {LabID: -1},
		"without a path":       {Receiver: "https://a.example/path"},
		"to:https://a.example": {Receiver: "https://A.example/"},
		"lab:12":               {LabID: 12},
	} {
		target, err := x.Target()
		if text := fmt.Sprint(target, err); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", text, want)
		}
	}
	d := newDesk(t, enginetest.New(clock.System{}, engine.DefaultSettings()))
	for lab := range int64(201) {
		if _, err := d.Pause(t.Context(), operate.Order{Operator: "a.rao", LabID: lab + 1, Paused: true}); (err != nil) != (lab == 200) {
			t.Errorf("laboratory %d: %v", lab+1, err)
		}
	}
	if _, err := d.Pause(t.Context(), operate.Order{Operator: "a.rao", LabID: 7, Paused: true}); err != nil {
		t.Errorf("a pause again: %v", err)
	}
}
