package operate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// queue is an engine with all operations used by operators.
type queue interface {
	operate.Queue
	manage.Managing
	worker.Queue
	Enqueue(context.Context, engine.Batch) (engine.Accepted, error)
	Lease() time.Duration
}

// desk provides the operators' commands on one engine.
type desk struct {
	*operate.Operator
	t     *testing.T
	queue queue
	ids   *job.Generator
}

// onEveryEngine runs a test on the in-memory engine and on a real Redis.
func onEveryEngine(t *testing.T, test func(d *desk)) {
	t.Parallel()
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		test(newDesk(t, enginetest.New(clock.System{}, engine.DefaultSettings())))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr, MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		q := engine.New(engine.Config{Client: client, Bells: client, Settings: engine.DefaultSettings()})
		test(newDesk(t, q))
	})
}

func newDesk(t *testing.T, q queue) *desk {
	d := &desk{t: t, queue: q, ids: job.NewGenerator(clock.System{})}
	jobs := &manage.Jobs{Queue: q, Lease: q.Lease(), Clock: clock.System{}, IDs: d.ids}
	d.Operator = &operate.Operator{Queue: q, Jobs: jobs, Clock: clock.System{}, Audit: slog.New(slog.DiscardHandler)}
	return d
}

func now() time.Time { return clock.System{}.Now() }

// later returns a time after the creation of all jobs in these tests.
func later() int64 { return now().Add(time.Minute).UnixMilli() }

// enqueue adds n jobs of a laboratory, due after the given time.
func (d *desk) enqueue(c job.Channel, lab int64, n int, in time.Duration) (list []job.ID) {
	d.t.Helper()
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range n {
		id := d.ids.Next(0, job.Lane{Channel: c, Priority: job.Moderate})
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

// all repeats an action until it is complete. It returns the numbers of jobs and steps.
func (d *desk) all(x operate.Order) (done, steps int) {
	d.t.Helper()
	for x.Operator = "a.rao"; ; steps++ {
		step, err := d.Apply(d.t.Context(), x)
		if err != nil || step.Left > 0 {
			d.t.Fatalf("%+v %v", step, err)
		}
		done += step.Done
		if x.Cursor = step.Next; x.Cursor == "" {
			return done, steps + 1
		}
	}
}

// search returns the ids of all matching jobs.
func (d *desk) search(x operate.Order) (ids []job.ID) {
	d.t.Helper()
	for {
		found, err := d.Search(d.t.Context(), x)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, v := range found.Jobs {
			ids = append(ids, v.ID)
		}
		if x.Cursor = found.Next; x.Cursor == "" {
			return ids
		}
	}
}

func TestALaboratorysWaitingJobsAreCancelledInStepsAndNobodyElses(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.enqueue(job.Webhook, 12, 1300, time.Hour)
		others := d.enqueue(job.Webhook, 12+2048, 3, time.Hour) // shares the flow of laboratory 12
		others = append(others, d.enqueue(job.SMS, 13, 1, time.Hour)...)
		x := operate.Order{Operator: "a.rao", Action: operate.Cancel, LabID: 12, CreatedBeforeMs: later()}
		counted, err := d.Preview(t.Context(), x)
		if err != nil || counted.Matched != 1300 || len(counted.First) != 10 || counted.Next != "" {
			t.Fatalf("%d matched, first %d, next %q, %v", counted.Matched, len(counted.First), counted.Next, err)
		}
		if done, steps := d.all(x); done != 1300 || steps != 3 {
			t.Errorf("%d cancelled in %d steps", done, steps)
		}
		if left := d.search(operate.Order{}); len(left) != len(others) {
			t.Errorf("%d jobs are left, want %d", len(left), len(others))
		}
		if done, _ := d.all(x); done != 0 {
			t.Errorf("a repeat cancelled %d", done)
		}
	})
}

func TestJobsThatCameAfterThePreviewAreLeftAlone(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		first := d.enqueue(job.SMS, 12, 1, time.Hour)
		x := operate.Order{Action: operate.Cancel, LabID: 12, CreatedBeforeMs: first[0].CreatedMs()}
		if done, _ := d.all(x); done != 0 {
			t.Errorf("%d were cancelled", done)
		}
		x.CreatedBeforeMs++
		if done, _ := d.all(x); done != 1 {
			t.Errorf("%d were cancelled, want 1", done)
		}
	})
}

func TestDeadJobsAreFoundByReasonRevivedAndDeleted(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		broken := d.end(job.Webhook, 12, 3, engine.OpFail, job.Failed, "http_503")
		d.end(job.Webhook, 12, 2, engine.OpFail, job.Failed, "timeout")
		doubt := d.end(job.SMS, 12, 1, engine.OpUnknown, job.Unknown, "no_answer")
		if got := d.search(operate.Order{States: "failed", Reason: "http_5"}); len(got) != len(broken) {
			t.Errorf("found %v, want %v", got, broken)
		}
		if got := d.search(operate.Order{States: "unknown", LabID: 12}); !cmp.Equal(got, doubt) {
			t.Errorf("found %v, want %v", got, doubt)
		}
		before := later()
		if done, _ := d.all(operate.Order{Action: operate.Retry, LabID: 12, Reason: "http_503", CreatedBeforeMs: before}); done != 3 {
			t.Errorf("%d revived", done)
		}
		if done, _ := d.all(operate.Order{Action: operate.Delete, LabID: 12, CreatedBeforeMs: before}); done != 3 {
			t.Errorf("%d deleted, want the ones that were not revived", done)
		}
		if got := d.search(operate.Order{}); len(got) != 3 {
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
		if _, err := d.Apply(t.Context(), operate.Order{Operator: "a.rao", Action: operate.Delete, LabID: 12, CreatedBeforeMs: later()}); !errors.Is(err, errAway) {
			t.Error(err)
		}
		if got := d.search(operate.Order{}); len(got) != 2 {
			t.Errorf("%d jobs are left", len(got))
		}
	})
}

// vanishing is an engine that lists one more job, which no longer exists when it is read.
type vanishing struct {
	queue
	gone job.ID
}

func (v vanishing) Browse(ctx context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error) {
	list, err := v.queue.Browse(ctx, x, after, most)
	if x.Shard == 0 && after == (engine.Member{}) {
		list = append([]engine.Member{{ID: v.gone}}, list...)
	}
	return list, err
}

func (away) Find(context.Context, []job.ID) (map[job.ID]*job.Record, error) { return nil, errAway }

func TestASearchNeedsNoArchiveForJobsThatEndMeanwhile(t *testing.T) {
	t.Parallel()
	m := enginetest.New(clock.System{}, engine.DefaultSettings())
	d := newDesk(t, m)
	d.Jobs.Archive = away{}
	ids := d.enqueue(job.SMS, 12, 2, time.Hour)
	d.Queue = vanishing{m, "00a01BX5ZZKBKACTAV9WEVGEMMVRZ"}
	if got := d.search(operate.Order{Channel: "sms", States: "scheduled"}); !cmp.Equal(got, ids) {
		t.Errorf("found %v, want %v", got, ids)
	}
}

func TestTheOverviewAndTheScheduleCount(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		d.enqueue(job.Email, 12, 4, 0)
		d.enqueue(job.Email, 13, 3, 30*time.Hour)
		d.enqueue(job.SMS, 13, 2, 300*time.Hour)
		d.end(job.Push, 12, 1, engine.OpFail, job.Failed, "timeout")
		if _, err := d.Pause(t.Context(), operate.Order{Operator: "a.rao", Channel: "email", Paused: true}); err != nil {
			t.Fatal(err)
		}
		o, err := d.Overview(t.Context())
		if err != nil || len(o.Paused) != 1 || o.Dead != 1 {
			t.Fatalf("%+v %v", o, err)
		}
		for _, l := range o.Lanes {
			if l.Key == "email:1" && (l.Waiting != 7 || l.Ready != 4) {
				t.Errorf("%+v", l)
			}
		}
		a, err := d.Ahead(t.Context())
		if err != nil || a.Hours[30]+a.Hours[31] != 3 || a.Later != 2 || a.Partial {
			t.Errorf("%+v %v", a, err)
		}
	})
}

func TestOneJobsLifeNamesOriginsOnly(t *testing.T) {
	onEveryEngine(t, func(d *desk) {
		id := d.enqueue(job.SMS, 12, 1, time.Hour)[0]
		l, err := d.Life(t.Context(), string(id))
		if err != nil || l.LabID != 12 || l.DueMs == 0 {
			t.Errorf("%+v %v", l, err)
		}
		if _, err := d.Life(t.Context(), "nothing"); err == nil {
			t.Error("a job of no id was found")
		}
	})
}

// claims counts the claims passed to the engine.
type claims struct {
	worker.Queue
	doubts []bool
	fail   error
}

func (c *claims) Claim(_ context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	c.doubts = append(c.doubts, q.Doubt)
	return engine.Claim{}, c.fail
}

// know reads the pauses, like the service's loop.
func know(t *testing.T, p *operate.Pauses) {
	t.Helper()
	if err := p.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAFilterRefuses(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]operate.Order{
		"above 0":           {LabID: -1},
		`no channel "fax"`:  {Channel: "fax"},
		"found by their id": {States: "finished"},
		"since 1970":        {CreatedBeforeMs: -1},
		"<nil>":             {LabID: 1, Channel: "sms", States: "failed,unknown", Reason: "x", CreatedBeforeMs: 1},
	} {
		if _, err := x.Filter(); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	d := newDesk(t, enginetest.New(clock.System{}, engine.DefaultSettings()))
	for want, x := range map[string]operate.Order{
		"an action on everything": {CreatedBeforeMs: 1},
		"preview first":           {LabID: 12},
		"cannot be changed":       {LabID: 12, CreatedBeforeMs: 1, States: "failed"},
	} {
		x.Operator, x.Action = "a.rao", operate.Cancel
		if _, err := d.Apply(t.Context(), x); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, cursor := range []string{"x", "1:2", "-1:0:", "0:x:", "0:0:nothing"} {
		if _, err := d.Search(t.Context(), operate.Order{Cursor: cursor}); err == nil {
			t.Errorf("cursor %q is taken", cursor)
		}
	}
}
