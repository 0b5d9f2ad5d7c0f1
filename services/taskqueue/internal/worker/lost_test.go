package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// deaf drops calls of a fetcher to the queue, like a network partition.
type deaf struct {
	worker.Queue
	claim, bodies, renew, settle func() bool // reports whether this reply is lost; nil: never
}

func (d *deaf) Claim(ctx context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	claim, err := d.Queue.Claim(ctx, q)
	if d.claim != nil && len(claim.Jobs) > 0 && d.claim() {
		return engine.Claim{}, errors.New("reply lost")
	}
	return claim, err
}

func (d *deaf) ReadBodies(ctx context.Context, jobs []engine.Leased) error {
	if d.bodies != nil && d.bodies() {
		return errors.New("reply lost")
	}
	return d.Queue.ReadBodies(ctx, jobs)
}

func (d *deaf) Renew(ctx context.Context, s int, c job.Channel, l []engine.Renewal) ([]engine.Renewed, error) {
	answers, err := d.Queue.Renew(ctx, s, c, l)
	if d.renew != nil && d.renew() {
		return nil, errors.New("reply lost")
	}
	return answers, err
}

func (d *deaf) Settle(ctx context.Context, s int, c job.Channel, l []engine.Settlement) ([]engine.Verdict, error) {
	verdicts, err := d.Queue.Settle(ctx, s, c, l)
	if d.settle != nil && d.settle() {
		return nil, errors.New("reply lost")
	}
	return verdicts, err
}

func TestLostRepliesOfRenewAndSettleLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		var renewals, settles atomic.Int32
		w := &world{t: t, queue: enginetest.New(clock.System{}, engine.DefaultSettings()), ids: job.NewGenerator(clock.System{})}
		w.wrap = func(q worker.Queue) worker.Queue {
			return &deaf{Queue: q, renew: func() bool { return renewals.Add(1)%3 != 0 }, settle: func() bool { return settles.Add(1) == 1 }}
		}
		w.start(func(context.Context, worker.Delivery) (job.Result, error) {
			runs.Add(1)
			pass(31200 * time.Millisecond) // the handler ends while a renewal is unanswered
			return job.Result{HTTPStatus: 200}, nil
		})
		id := w.enqueue(&job.Body{Retry: 3, Subscribe: "https://a.example/s"})
		pass(2 * time.Minute)
		if r := w.record(id); r == nil || r.State != job.Finished || runs.Load() != 1 {
			t.Errorf("runs %d, record %+v", runs.Load(), r)
		}
		depths, err := w.queue.Depths(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range depths.Lanes {
			if d.Lane == engine.CallbackLane() && d.Waiting != 1 {
				t.Errorf("%d callbacks, want 1", d.Waiting)
			}
		}
		w.end()
	})
}

func TestALostReplyOfAClaimCostsOneLeaseAndNothingElse(t *testing.T) {
	t.Parallel()
	const losses = 9 // more than the crash limit, and more than the number of slots
	for name, lose := range map[string]func(d *deaf, lost func() bool){
		"the leases": func(d *deaf, lost func() bool) { d.claim = lost },
		"the bodies": func(d *deaf, lost func() bool) { d.bodies = lost },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var runs, lost atomic.Int32
				w := &world{t: t, queue: newQueue(), ids: newIDs()}
				w.wrap = func(q worker.Queue) worker.Queue {
					d := &deaf{Queue: q}
					lose(d, func() bool { return lost.Add(1) <= losses })
					return d
				}
				w.start(func(context.Context, worker.Delivery) (job.Result, error) {
					runs.Add(1)
					return job.Result{HTTPStatus: 200}, nil
				})
				id := w.enqueue(&job.Body{Task: 4})
				pass(losses * 19 * time.Second) // a lease, the reaper's interval, and its delay
				if r := w.record(id); r == nil || r.State != job.Finished || runs.Load() != 1 || r.Attempts != 1 {
					t.Errorf("runs %d, record %+v", runs.Load(), r)
				}
				w.end()
			})
		})
	}
}

// loading is an engine that rejects settlements at first, like a Redis that is loading its file.
type loading struct {
	worker.Queue
	until time.Time
}

func (l loading) Settle(ctx context.Context, shard int, c job.Channel, list []engine.Settlement) ([]engine.Verdict, error) {
	if time.Now().Before(l.until) {
		return nil, errors.New("LOADING Redis is loading the dataset in memory")
	}
	return l.Queue.Settle(ctx, shard, c, list)
}

func TestAKnownOutcomeIsKeptUntilTheEngineAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, queue: enginetest.New(clock.System{}, engine.DefaultSettings()), ids: job.NewGenerator(clock.System{}), alone: true}
		began := time.Now()
		w.wrap = func(q worker.Queue) worker.Queue { return loading{Queue: q, until: began.Add(time.Minute)} }
		ran := 0
		w.start(func(context.Context, worker.Delivery) (job.Result, error) {
			ran++
			return job.Result{HTTPStatus: 200, Sent: true}, nil
		})
		id := w.enqueue(&job.Body{Retry: 3})
		pass(62 * time.Second)
		if r := w.record(id); r == nil || r.State != job.Finished || ran != 1 {
			t.Errorf("ran %d times, record %+v", ran, r)
		}
		w.end()
	})
}
