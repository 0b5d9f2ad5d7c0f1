package operate_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// queue is an engine that can be operated.
type queue interface {
	operate.Queue
	api.Managing
	worker.Queue
	Enqueue(context.Context, engine.Batch) (engine.Accepted, error)
	Lease() time.Duration
}

// desk is the use cases on one engine.
type desk struct {
	*operate.Operator
	t     *testing.T
	queue queue
	ids   *job.Generator
}

// onEveryEngine runs a test on the model and on real Redis.
func onEveryEngine(t *testing.T, test func(d *desk)) {
	t.Parallel()
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		test(newDesk(t, model.New(clock.System{}, engine.DefaultSettings())))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr, MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		q, err := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
		if err != nil {
			t.Fatal(err)
		}
		test(newDesk(t, q))
	})
}

func newDesk(t *testing.T, q queue) *desk {
	d := &desk{t: t, queue: q, ids: job.NewGenerator(clock.System{}, rand.Reader)}
	jobs := &api.Jobs{Queue: q, Lease: q.Lease(), Clock: clock.System{},
		Callbacks: func(id job.ID, b *job.Body, r *job.Record) ([]engine.NewJob, error) {
			return worker.Callbacks(d.ids, id, b, r)
		}}
	d.Operator = operate.New(operate.Deps{Queue: q, Jobs: jobs, Clock: clock.System{}})
	return d
}

func now() time.Time { return clock.System{}.Now() }

// later is a time that jobs of these tests are created before.
func later() int64 { return now().Add(time.Minute).UnixMilli() }

// enqueue adds n jobs of a laboratory, due in some time.
func (d *desk) enqueue(c job.Channel, lab int64, n int, in time.Duration) (list []job.ID) {
	d.t.Helper()
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range n {
		id, err := d.ids.Next(0, job.Lane{Channel: c, Priority: job.Moderate})
		if err != nil {
			d.t.Fatal(err)
		}
		body := &job.Body{Task: 1, LabID: lab, Flow: job.LabFlow(lab), Data: []byte(`{"message":"secret"}`)}
		batch.IdempotencyKey = string(id)
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Flow: body.Flow, DueMs: now().Add(in).UnixMilli(), Body: body.Encode(nil)})
		list = append(list, id)
	}
	if _, err := d.queue.Enqueue(d.t.Context(), batch); err != nil {
		d.t.Fatal(err)
	}
	return list
}

// end runs n jobs of a channel and ends them.
func (d *desk) end(c job.Channel, lab int64, n int, op engine.Op, state job.State, reason string) []job.ID {
	d.t.Helper()
	ids := d.enqueue(c, lab, n, 0)
	claim, err := d.queue.Claim(d.t.Context(), engine.ClaimRequest{Channel: c, Max: n})
	if err != nil || len(claim.Jobs) != n {
		d.t.Fatal(len(claim.Jobs), err)
	}
	for _, id := range ids {
		r := job.RecordOf(&job.Body{LabID: lab, LastReason: reason, Attempts: 1}, state, now().UnixMilli())
		list := []engine.Settlement{{ID: id, Token: claim.Token, Op: op, Payload: r.Encode(nil)}}
		if _, err := d.queue.Settle(d.t.Context(), 0, c, list); err != nil {
			d.t.Fatal(err)
		}
	}
	return ids
}

// all applies an action to its end and counts.
func (d *desk) all(a operate.Action, f operate.Filter) (done, steps int) {
	d.t.Helper()
	for cursor := ""; ; steps++ {
		step, err := d.Apply(d.t.Context(), a, f, cursor)
		if err != nil || step.Left > 0 {
			d.t.Fatalf("%+v %v", step, err)
		}
		done += step.Done
		if cursor = step.Next; cursor == "" {
			return done, steps + 1
		}
	}
}

// search finds all and returns the ids.
func (d *desk) search(f operate.Filter) (ids []job.ID) {
	d.t.Helper()
	for cursor := ""; ; {
		found, err := d.Search(d.t.Context(), f, cursor, 100)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, v := range found.Jobs {
			ids = append(ids, v.ID)
		}
		if cursor = found.Next; cursor == "" {
			return ids
		}
	}
}

func TestALaboratorysWaitingJobsAreCancelledInStepsAndNobodyElses(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.enqueue(job.Webhook, 12, 1300, time.Hour)
		others := d.enqueue(job.Webhook, 12+2048, 3, time.Hour) // shares the flow
		others = append(others, d.enqueue(job.SMS, 13, 1, time.Hour)...)
		f := operate.Filter{LabID: 12, CreatedBeforeMs: later()}
		counted, err := d.Preview(t.Context(), operate.Cancel, f, "")
		if err != nil || counted.Matched != 1300 || len(counted.First) != 10 || counted.Next != "" {
			t.Fatalf("%d matched, first %d, next %q, %v", counted.Matched, len(counted.First), counted.Next, err)
		}
		if done, steps := d.all(operate.Cancel, f); done != 1300 || steps != 3 {
			t.Errorf("%d cancelled in %d steps", done, steps)
		}
		if left := d.search(operate.Filter{}); len(left) != len(others) {
			t.Errorf("%d jobs are left, want %d", len(left), len(others))
		}
		if done, _ := d.all(operate.Cancel, f); done != 0 {
			t.Errorf("a repeat cancelled %d", done)
		}
	})
}

func TestJobsThatCameAfterThePreviewAreLeftAlone(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		first := d.enqueue(job.SMS, 12, 1, time.Hour)
		f := operate.Filter{LabID: 12, CreatedBeforeMs: first[0].CreatedMs()}
		if done, _ := d.all(operate.Cancel, f); done != 0 {
			t.Errorf("%d were cancelled", done)
		}
		f.CreatedBeforeMs++
		if done, _ := d.all(operate.Cancel, f); done != 1 {
			t.Errorf("%d were cancelled, want 1", done)
		}
	})
}

func TestDeadJobsAreFoundByReasonRevivedAndDeleted(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		broken := d.end(job.Webhook, 12, 3, engine.OpFail, job.Failed, "http_503")
		d.end(job.Webhook, 12, 2, engine.OpFail, job.Failed, "timeout")
		doubt := d.end(job.SMS, 12, 1, engine.OpUnknown, job.Unknown, "no_answer")
		if got := d.search(operate.Filter{States: []job.State{job.Failed}, Reason: "http_5"}); len(got) != len(broken) {
			t.Errorf("found %v, want %v", got, broken)
		}
		if got := d.search(operate.Filter{States: []job.State{job.Unknown}, LabID: 12}); !cmp.Equal(got, doubt) {
			t.Errorf("found %v, want %v", got, doubt)
		}
		before := later()
		if done, _ := d.all(operate.Retry, operate.Filter{LabID: 12, Reason: "http_503", CreatedBeforeMs: before}); done != 3 {
			t.Errorf("%d revived", done)
		}
		if done, _ := d.all(operate.Delete, operate.Filter{LabID: 12, CreatedBeforeMs: before}); done != 3 {
			t.Errorf("%d deleted, want those that were not revived", done)
		}
		if got := d.search(operate.Filter{}); len(got) != 3 {
			t.Errorf("%d jobs are left, want the revived ones", len(got))
		}
	})
}

var errAway = errors.New("away")

type away struct{}

func (away) Keep(context.Context, []job.ID) error { return errAway }

func TestNothingIsDeletedThatTheArchiveDoesNotHave(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.Keeper = away{}
		d.end(job.SMS, 12, 2, engine.OpFail, job.Failed, "timeout")
		if _, err := d.Apply(t.Context(), operate.Delete, operate.Filter{LabID: 12, CreatedBeforeMs: later()}, ""); !errors.Is(err, errAway) {
			t.Error(err)
		}
		if got := d.search(operate.Filter{}); len(got) != 2 {
			t.Errorf("%d jobs are left", len(got))
		}
	})
}

func TestTheOverviewAndTheScheduleCount(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.enqueue(job.Email, 12, 4, 0)
		d.enqueue(job.Email, 13, 3, 30*time.Hour)
		d.enqueue(job.SMS, 13, 2, 300*time.Hour)
		d.end(job.Push, 12, 1, engine.OpFail, job.Failed, "timeout")
		if err := d.Pause(t.Context(), engine.ChannelTarget(job.Email)); err != nil {
			t.Fatal(err)
		}
		o, err := d.Overview(t.Context())
		if err != nil || len(o.Paused) != 1 || o.Backlog.Dead != 1 {
			t.Fatalf("%+v %v", o, err)
		}
		for _, l := range o.Lanes {
			if l.Lane == (job.Lane{Channel: job.Email, Priority: job.Moderate}) && (l.Waiting != 7 || l.Ready != 4) {
				t.Errorf("%+v", l)
			}
		}
		_, a, err := d.Ahead(t.Context())
		if err != nil || a.Hours[30]+a.Hours[31] != 3 || a.Later != 2 || a.Partial {
			t.Errorf("%+v %v", a, err)
		}
	})
}

func TestOneJobsLifeNamesOriginsOnly(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		id := d.enqueue(job.SMS, 12, 1, time.Hour)[0]
		l, err := d.Life(t.Context(), string(id))
		if err != nil || l.View.Record.LabID != 12 || l.DueMs == 0 {
			t.Errorf("%+v %v", l, err)
		}
		if _, err := d.Life(t.Context(), "nothing"); err == nil {
			t.Error("a job of no id was found")
		}
	})
}

// claims counts what reaches the engine.
type claims struct {
	worker.Queue
	doubts []bool
	fail   error
}

func (c *claims) Claim(_ context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	c.doubts = append(c.doubts, q.Doubt)
	return engine.Claim{}, c.fail
}

type steps struct{ at time.Time }

func (s *steps) Now() time.Time { return s.at }

func TestAPausedChannelIsNotClaimedFromAndALostClaimIsStillTold(t *testing.T) {
	t.Parallel()
	clk := &steps{at: time.UnixMilli(1_790_000_000_000)}
	m, c := model.New(clk, engine.DefaultSettings()), &claims{}
	q := operate.Pausing(c, operate.NewPauses(m, clk))
	claim := func(doubt bool, pass time.Duration) {
		t.Helper()
		clk.at = clk.at.Add(pass)
		if _, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.SMS, Doubt: doubt}); err != nil {
			t.Fatal(err)
		}
	}
	claim(false, 0)
	if err := m.Pause(t.Context(), engine.ChannelTarget(job.SMS), clk.at); err != nil {
		t.Fatal(err)
	}
	claim(false, time.Millisecond) // known up to a second later
	claim(true, time.Second)
	claim(false, time.Second)
	if err := m.Resume(t.Context(), engine.ChannelTarget(job.SMS)); err != nil {
		t.Fatal(err)
	}
	claim(false, time.Second)
	claim(false, time.Second)
	if want := []bool{false, false, true, false}; !cmp.Equal(c.doubts, want) {
		t.Errorf("claims with doubt %v, want %v", c.doubts, want)
	}
}

func TestWhatAFilterRefuses(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]func() (operate.Filter, error){
		"above 0":           func() (operate.Filter, error) { return operate.ParseFilter(-1, "", "", "", 0) },
		`no channel "fax"`:  func() (operate.Filter, error) { return operate.ParseFilter(0, "fax", "", "", 0) },
		"found by their id": func() (operate.Filter, error) { return operate.ParseFilter(0, "", "finished", "", 0) },
		"since 1970":        func() (operate.Filter, error) { return operate.ParseFilter(0, "", "", "", -1) },
		"<nil>":             func() (operate.Filter, error) { return operate.ParseFilter(1, "sms", "failed,unknown", "x", 1) },
	} {
		if _, err := call(); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	d := newDesk(t, model.New(clock.System{}, engine.DefaultSettings()))
	for want, f := range map[string]operate.Filter{
		"an action on everything": {CreatedBeforeMs: 1},
		"preview first":           {LabID: 12},
		"cannot be changed":       {LabID: 12, CreatedBeforeMs: 1, States: []job.State{job.Failed}},
	} {
		if _, err := d.Apply(t.Context(), operate.Cancel, f, ""); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, cursor := range []string{"x", "1:2", "-1:0:", "0:x:", "0:0:nothing"} {
		if _, err := d.Search(t.Context(), operate.Filter{}, cursor, 1); err == nil {
			t.Errorf("cursor %q is taken", cursor)
		}
	}
}

func TestAPausedLaboratoryIsPassedByWhateverItHas(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.enqueue(job.SMS, 12, 40, 0)
		mine := d.enqueue(job.SMS, 13, 2, 0)
		if err := d.Pause(t.Context(), engine.LabTarget(12)); err != nil {
			t.Fatal(err)
		}
		clk := &steps{at: time.UnixMilli(1_790_000_000_000)}
		q := operate.Pausing(workerQueue{d.queue}, operate.NewPauses(d.queue, clk))
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
		if err := d.Resume(t.Context(), engine.LabTarget(12)); err != nil {
			t.Fatal(err)
		}
		if c := claim(); len(c.Jobs) != 0 {
			t.Errorf("%d jobs are claimed before the end of the pause is known", len(c.Jobs))
		}
		clk.at = clk.at.Add(time.Second)
		if c := claim(); len(c.Jobs) != 40 {
			t.Errorf("%d jobs are claimed after the pause, want 40", len(c.Jobs))
		}
	})
}

// workerQueue is an engine without a bell.
type workerQueue struct{ queue }

func (workerQueue) WaitBell(context.Context, int, job.Channel, time.Duration) error { return nil }

func TestAPausedReceiverIsKnownWithTheNextClaim(t *testing.T) {
	t.Parallel()
	clk := &steps{at: time.UnixMilli(1_790_000_000_000)}
	m := model.New(clk, engine.DefaultSettings())
	pauses := operate.NewPauses(m, clk)
	q := operate.Pausing(&claims{}, pauses)
	const origin = "https://told.example"
	if err := m.Pause(t.Context(), engine.ReceiverTarget(origin), clk.at); err != nil {
		t.Fatal(err)
	}
	if pauses.Receiver(origin) {
		t.Error("the pause is known before anybody asked")
	}
	if _, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook}); err != nil {
		t.Fatal(err)
	}
	if !pauses.Receiver(origin) || pauses.Receiver("https://other.example") {
		t.Error("the paused receiver, and only it, is to be left alone")
	}
}

func TestWhatCannotBePaused(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]func() (engine.Target, error){
		"name one thing":       func() (engine.Target, error) { return operate.ParseTarget("", 0, "") },
		"one thing that":       func() (engine.Target, error) { return operate.ParseTarget("sms", 12, "") },
		"no channel fax":       func() (engine.Target, error) { return operate.ParseTarget("fax", 0, "") },
		"number above 0":       func() (engine.Target, error) { return operate.ParseTarget("", -1, "") },
		"without a path":       func() (engine.Target, error) { return operate.ParseTarget("", 0, "https://a.example/path") },
		"to:https://a.example": func() (engine.Target, error) { return operate.ParseTarget("", 0, "https://A.example/") },
		"lab:12":               func() (engine.Target, error) { return operate.ParseTarget("", 12, "") },
	} {
		target, err := call()
		if text := fmt.Sprint(target, err); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", text, want)
		}
	}
	d := newDesk(t, model.New(clock.System{}, engine.DefaultSettings()))
	for lab := range int64(201) {
		if err := d.Pause(t.Context(), engine.LabTarget(lab+1)); (err != nil) != (lab == 200) {
			t.Errorf("laboratory %d: %v", lab+1, err)
		}
	}
	if err := d.Pause(t.Context(), engine.LabTarget(7)); err != nil {
		t.Errorf("a pause again: %v", err)
	}
}
