package worker_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// world is one fetcher and one reaper on the in-memory engine, in virtual time.
type world struct {
	t     *testing.T
	queue *enginetest.Model
	ids   *job.Generator
	stop  context.CancelFunc
	done  sync.WaitGroup
	seen  observer
	wrap  func(worker.Queue) worker.Queue
	seals *seal.Ring
	alone bool // without a reaper: expired leases stay
}

type handle func(ctx context.Context, d worker.Delivery) (job.Result, error)

func (h handle) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) { return h(ctx, d) }

type observer struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (o *observer) add(name string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]int{}
	}
	o.counts[name] += n
}

func (o *observer) Claimed(job.Channel, int, time.Duration)                {}
func (o *observer) Attempt(_ job.Channel, outcome string, _ time.Duration) { o.add(outcome, 1) }
func (o *observer) LeaseLost(job.Channel)                                  { o.add("lost", 1) }
func (o *observer) Waited(job.Lane, time.Duration)                         { o.add("waited", 1) }
func (o *observer) Callbacks(n int, _ bool)                                { o.add("callbacks", n) }
func (o *observer) Reaped(_ job.Channel, decision string)                  { o.add(decision, 1) }

func (o *observer) count(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[name]
}

func newQueue() *enginetest.Model { return enginetest.New(clock.System{}, engine.DefaultSettings()) }
func newIDs() *job.Generator      { return job.NewGenerator(clock.System{}) }

func begin(t *testing.T, h handle) *world {
	w := &world{t: t, queue: enginetest.New(clock.System{}, engine.DefaultSettings()), ids: job.NewGenerator(clock.System{})}
	w.start(h)
	return w
}

func (w *world) start(h handle) {
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	half := func() float64 { return 0.5 }
	var queue worker.Queue = w.queue
	if w.wrap != nil {
		queue = w.wrap(queue)
	}
	p := worker.New(worker.Config{Channel: job.Webhook, Lease: 15 * time.Second, MaxRun: 330 * time.Second, Grace: 5 * time.Second},
		worker.Deps{Queue: queue, Pool: worker.NewPool(8), Handler: h, Observer: &w.seen, Clock: clock.System{}, IDs: w.ids, Roll: half, Log: log, Seals: w.seals})
	r := janitor.New(janitor.Config{Every: time.Second, KeepDead: time.Hour, MaxDead: 100, MaxDeadBytes: 1 << 20},
		janitor.Deps{Queue: w.queue, Observer: &w.seen, Clock: clock.System{}, RedisTime: clock.System{}, IDs: w.ids, Roll: half, Log: log})
	w.done.Go(func() { _ = p.Run(ctx) })
	if !w.alone {
		w.done.Go(func() { _ = r.Run(ctx) })
	}
}

func (w *world) end() {
	w.stop()
	w.done.Wait()
}

func (w *world) enqueue(b *job.Body) job.ID {
	w.t.Helper()
	id := w.ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Moderate})
	_, err := w.queue.Enqueue(context.Background(), engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute,
		Jobs: []engine.NewJob{{ID: id, Body: b.Encode(nil)}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) record(id job.ID) *job.Record {
	w.t.Helper()
	s, err := w.queue.Info(context.Background(), []job.ID{id})
	if err != nil {
		w.t.Fatal(err)
	}
	if s[0].Place != engine.PlaceResult {
		return nil
	}
	r, err := job.DecodeRecord(s[0].Record)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func now() time.Time { return clock.System{}.Now() }

// pass advances virtual time by d.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func TestARetryLadderIsClimbedAndEndsFailedWithCallbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards at
		var at []time.Duration
		begun := now()
		w := begin(t, func(context.Context, worker.Delivery) (job.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, now().Sub(begun).Round(time.Second))
			return job.Result{HTTPStatus: 503}, job.Retryable("http_5xx", "The receiver answered 503")
		})
		id := w.enqueue(&job.Body{Retry: 3, Subscribe: "https://a.example/s", OnFailure: "https://a.example/f", OnSuccess: "https://a.example/ok"})
		pass(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]time.Duration{0, 5 * time.Second, 25 * time.Second, 105 * time.Second}, at); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		r := w.record(id)
		if r == nil || r.State != job.Failed || r.Attempts != 4 || len(r.History) != 4 || r.HTTPStatus != 503 {
			t.Errorf("record %+v", r)
		}
		if got := w.seen.count("callbacks"); got != 2 {
			t.Errorf("%d callbacks, want subscribe and failure", got)
		}
		w.end()
	})
}

func TestAPanicIsRetriedAndAPermanentFailureIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(_ context.Context, d worker.Delivery) (job.Result, error) {
			if d.Attempt == 1 {
				panic("defect")
			}
			return job.Result{}, job.Permanent("http_4xx", "The receiver answered 404")
		})
		id := w.enqueue(&job.Body{Retry: 5})
		pass(time.Minute)
		if r := w.record(id); r == nil || r.State != job.Failed || r.Attempts != 2 || r.Error != "The receiver answered 404" {
			t.Errorf("record %+v", r)
		}
		w.end()
	})
}

func TestALongJobKeepsItsLeaseAndRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		w := begin(t, func(context.Context, worker.Delivery) (job.Result, error) {
			runs.Add(1)
			pass(100 * time.Second)
			return job.Result{HTTPStatus: 200}, nil
		})
		id := w.enqueue(&job.Body{Retry: 3})
		pass(110 * time.Second)
		if r := w.record(id); r == nil || r.State != job.Finished || runs.Load() != 1 || w.seen.count("lost") != 0 {
			t.Errorf("runs %d, record %+v", runs.Load(), r)
		}
		w.end()
	})
}

func TestAHandlerThatIgnoresItsContextGivesItsPlaceBackAndTheJobRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		release := make(chan struct{})
		w := begin(t, func(context.Context, worker.Delivery) (job.Result, error) {
			if runs.Add(1) == 1 {
				<-release
			}
			return job.Result{HTTPStatus: 200}, nil
		})
		id := w.enqueue(&job.Body{Retry: 3})
		pass(400 * time.Second)
		if r := w.record(id); r == nil || r.State != job.Finished || runs.Load() != 2 {
			t.Errorf("runs %d, record %+v", runs.Load(), r)
		}
		close(release)
		pass(time.Second)
		if w.seen.count("succeeded") != 1 || w.seen.count("lost") == 0 {
			t.Errorf("the late end must be refused: %d succeeded", w.seen.count("succeeded"))
		}
		w.end()
	})
}

func TestAStopReleasesWhatDoesNotEndInTimeWithoutCountingAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(ctx context.Context, _ worker.Delivery) (job.Result, error) {
			<-ctx.Done()
			return job.Result{}, ctx.Err()
		})
		id := w.enqueue(&job.Body{Retry: 3})
		pass(time.Second)
		stopped := now()
		w.end()
		if took := now().Sub(stopped); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("stopping took %v, want the grace of 5 s", took)
		}
		s, err := w.queue.Info(t.Context(), []job.ID{id})
		if err != nil || s[0].Place != engine.PlaceLane || w.seen.count("released") != 1 {
			t.Fatalf("place %v, %v", s[0].Place, err)
		}
		if b, err := job.DecodeBody(s[0].Body); err != nil || b.Attempts != 0 {
			t.Errorf("attempts %d, %v", b.Attempts, err)
		}
	})
}

func TestACancelRequestEndsARunningJobAsCancelledNeverInRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(ctx context.Context, _ worker.Delivery) (job.Result, error) {
			<-ctx.Done()
			return job.Result{}, ctx.Err()
		})
		id := w.enqueue(&job.Body{Retry: 3})
		pass(time.Second)
		list := []engine.Cancellation{{ID: id}}
		if got, err := w.queue.Cancel(t.Context(), list); err != nil || got[0] != engine.CancelRequested {
			t.Fatalf("got %v, %v, want engine.CancelRequested", got, err)
		}
		pass(7 * time.Second)
		if r := w.record(id); r == nil || r.State != job.Cancelled {
			t.Errorf("record %+v", r)
		}
		w.end()
	})
}

func TestACancelRequestAfterTheRequestWasSentEndsAsUnknownNeverAsCancelled(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} { // cancelled while it runs, or just before the settlement
		synctest.Test(t, func(t *testing.T) {
			w := begin(t, func(ctx context.Context, _ worker.Delivery) (job.Result, error) {
				if !late {
					<-ctx.Done()
				}
				pass(2 * time.Second)
				return job.Result{Sent: true}, job.Retryable("network", "no answer")
			})
			id := w.enqueue(&job.Body{Retry: 3})
			pass(time.Second)
			if got, err := w.queue.Cancel(t.Context(), []engine.Cancellation{{ID: id}}); err != nil || got[0] != engine.CancelRequested {
				t.Fatalf("got %v, %v, want engine.CancelRequested", got, err)
			}
			pass(9 * time.Second)
			if r := w.record(id); r == nil || r.State != job.Unknown || r.Attempts != 1 {
				t.Errorf("record %+v", r)
			}
			w.end()
		})
	}
}

func TestAnAttemptThatAStopInterruptsAfterTheRequestWasSentIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(ctx context.Context, _ worker.Delivery) (job.Result, error) {
			<-ctx.Done()
			return job.Result{Sent: true}, job.Retryable("network", "no answer")
		})
		id := w.enqueue(&job.Body{Retry: 3})
		pass(time.Second)
		w.end()
		s, err := w.queue.Info(t.Context(), []job.ID{id})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := job.DecodeBody(s[0].Body); err != nil || b.Attempts != 1 {
			t.Errorf("attempts %d, %v", b.Attempts, err)
		}
	})
}

func TestLowPriorityKeepsItsShareUnderEndlessHighLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards done
		done := map[job.Priority]int{}
		w := begin(t, func(_ context.Context, d worker.Delivery) (job.Result, error) {
			timer := time.NewTimer(100 * time.Millisecond)
			<-timer.C
			mu.Lock()
			defer mu.Unlock()
			done[d.ID.Lane().Priority]++
			return job.Result{HTTPStatus: 200}, nil
		})
		w.flood(job.Low, 300)
		for range 20 { // six of eight slots, the maximum for one flow, run 60 jobs per second; the high lane is never empty
			w.flood(job.High, 100)
			w.flood(job.Moderate, 20)
			pass(time.Second)
		}
		mu.Lock()
		total := done[job.Low] + done[job.Moderate] + done[job.High]
		if total < 1000 || done[job.Low]*100 < 9*total || done[job.Moderate]*100 < 18*total || done[job.High]*100 < 60*total {
			t.Errorf("of %d jobs: %v", total, done)
		}
		mu.Unlock()
		w.end()
	})
}

func (w *world) flood(p job.Priority, n int) {
	w.t.Helper()
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range n {
		id := w.ids.Next(0, job.Lane{Channel: job.Webhook, Priority: p})
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: (&job.Body{Retry: 3}).Encode(nil)})
	}
	batch.IdempotencyKey = string(batch.Jobs[0].ID)
	if _, err := w.queue.Enqueue(context.Background(), batch); err != nil {
		w.t.Fatal(err)
	}
}

// TestAParkedPasswordEndsWhenItExpires: the provider for a one-time password is unavailable for an hour. The caller
// must be informed when the password expires, not when the provider recovers.
func TestAParkedPasswordEndsWhenItExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(context.Context, worker.Delivery) (job.Result, error) {
			return job.Result{}, job.AwaitRecovery("provider_paused", "away", time.Minute).For("via:sms")
		})
		id := w.enqueue(&job.Body{Retry: 3, CreatedMs: now().UnixMilli(), ExpiresMs: now().Add(5 * time.Minute).UnixMilli()})
		pass(5*time.Minute + time.Second)
		if r := w.record(id); r == nil || r.Reason != "expired" {
			t.Errorf("%+v", r)
		}
		w.end()
	})
}
