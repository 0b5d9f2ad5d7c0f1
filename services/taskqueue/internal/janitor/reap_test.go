package janitor_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// manual is a clock set by the test.
type manual struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *manual) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = m.at.Add(d)
}

type counter map[string]int

func (c counter) Reaped(_ job.Channel, decision string) { c[decision]++ }

// keeper is an archive that may be unavailable.
type keeper struct {
	away bool
	kept []job.ID
}

func (k *keeper) Write(_ context.Context, list []janitor.Entry) ([]job.ID, error) {
	if k.away {
		return nil, errors.New("away")
	}
	for _, e := range list {
		k.kept = append(k.kept, e.ID)
	}
	return nil, nil
}

func (k *keeper) Purge(context.Context, time.Time) (int64, error) { return 0, nil }
func (k *keeper) PurgeBatch() int64                               { return 10 }

type world struct {
	t     *testing.T
	clock *manual
	queue *enginetest.Model
	ids   *job.Generator
	seen  counter
}

func open(t *testing.T) *world {
	clk := &manual{at: time.UnixMilli(1_790_000_000_000)}
	return &world{t: t, clock: clk, queue: enginetest.New(clk, engine.DefaultSettings()), ids: job.NewGenerator(clk), seen: counter{}}
}

// reap runs a new janitor once.
func (w *world) reap(cfg janitor.Config, k *keeper) {
	w.t.Helper()
	cfg.Every = time.Second
	log := slog.New(slog.DiscardHandler)
	deps := janitor.Deps{Queue: w.queue, Observer: w.seen, Clock: w.clock, RedisTime: w.clock, IDs: w.ids, Roll: func() float64 { return 0 }, Log: log}
	if k != nil {
		deps.Archive = &janitor.Archive{Queue: w.queue, Store: k, Observer: archived{}, Clock: w.clock, Log: log, Age: time.Hour}
	}
	j := janitor.New(cfg, deps)
	for _, step := range []func(context.Context) error{j.Reap, j.Tidy} {
		if err := step(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) claimed() (job.ID, engine.Claim) {
	w.t.Helper()
	id := w.ids.Next(0, job.Lane{Channel: job.SMS, Priority: job.High})
	body := job.Body{Task: 1, LabID: 12, Subscribe: "https://a.example/told"}
	if _, err := w.queue.Enqueue(w.t.Context(), engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute,
		Jobs: []engine.NewJob{{ID: id, Body: body.Encode(nil)}}}); err != nil {
		w.t.Fatal(err)
	}
	c, err := w.queue.Claim(w.t.Context(), engine.ClaimRequest{Channel: job.SMS, Max: 1})
	if err != nil || len(c.Jobs) != 1 {
		w.t.Fatalf("%d jobs, %v", len(c.Jobs), err)
	}
	return id, c
}

func (w *world) place(id job.ID) engine.Place {
	w.t.Helper()
	s, err := w.queue.Info(w.t.Context(), []job.ID{id})
	if err != nil {
		w.t.Fatal(err)
	}
	return s[0].Place
}

// record returns the record of a finished job; nil if it has not finished.
func (w *world) record(id job.ID) *job.Record {
	w.t.Helper()
	s, err := w.queue.Info(w.t.Context(), []job.ID{id})
	if err != nil {
		w.t.Fatal(err)
	}
	if s[0].Record == nil {
		return nil
	}
	r, err := job.DecodeRecord(s[0].Record)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestAJobThatKillsItsProcessAtOnceIsPoisonedAtTheFourthCrash(t *testing.T) {
	t.Parallel()
	w := open(t)
	id, _ := w.claimed()
	for crash := 1; crash <= 4; crash++ {
		w.clock.add(16 * time.Second) // the lease expires, because the process died before renewing it
		w.reap(janitor.Config{KeepDead: time.Hour, MaxDead: 10, MaxDeadBytes: 1 << 20}, nil)
		if r := w.record(id); (r != nil) != (crash == 4) || (r != nil && (r.State != job.Failed || r.Reason != "poisoned")) {
			t.Errorf("crash %d: record %+v", crash, r)
		}
		if _, err := w.queue.Claim(t.Context(), engine.ClaimRequest{Channel: job.SMS, Max: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADoubtfulSendIsHeldOrRepeatedByPolicy(t *testing.T) {
	t.Parallel()
	for resend, want := range map[bool]engine.Place{false: engine.PlaceResult, true: engine.PlaceLane} {
		w := open(t)
		id, c := w.claimed()
		if ok, err := w.queue.MarkIntent(t.Context(), id, c.Token, "twilio"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		w.clock.add(16 * time.Second)
		w.reap(janitor.Config{KeepDead: time.Hour, MaxDead: 10, MaxDeadBytes: 1 << 20, Resend: resend}, nil)
		if got := w.place(id); got != want {
			t.Errorf("resend %v: place %d, want %d", resend, got, want)
		}
		if r := w.record(id); (r == nil) != resend || (r != nil && (r.State != job.Unknown || r.Attempts != 1 || r.Reason != "worker_died")) {
			t.Errorf("resend %v: record %+v", resend, r)
		}
		told, err := w.queue.Claim(t.Context(), engine.ClaimRequest{Channel: job.Callback, Max: 9})
		if wantTold := map[bool]int{false: 1, true: 0}[resend]; err != nil || len(told.Jobs) != wantTold {
			t.Errorf("resend %v: %d callbacks, %v", resend, len(told.Jobs), err)
		}
	}
}

func TestTheDeadAreArchivedBeforeTheyAreForgotten(t *testing.T) {
	t.Parallel()
	w := open(t)
	var all []job.ID
	die := func() {
		id, c := w.claimed()
		r := job.Record{State: job.Failed, LabID: 12}
		if _, err := w.queue.Settle(t.Context(), 0, job.SMS, []engine.Settlement{{ID: id, Token: c.Token, Op: engine.OpFail, Payload: r.Encode(nil)}}); err != nil {
			t.Fatal(err)
		}
		w.clock.add(time.Millisecond)
		all = append(all, id)
	}
	cfg := janitor.Config{KeepDead: time.Hour, MaxDead: 2, MaxDeadBytes: 1 << 20}
	k := &keeper{away: true}
	for range 4 {
		die()
	}
	w.reap(cfg, k)
	if w.place(all[0]) != engine.PlaceResult {
		t.Error("a dead job was forgotten although the archive is unavailable")
	}
	k.away = false
	w.reap(cfg, k)
	if diff := cmp.Diff(all[:2], k.kept); diff != "" || w.place(all[1]) != engine.PlaceNone || w.place(all[2]) != engine.PlaceResult {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	k.away = true
	for range 3 {
		die()
	}
	w.reap(cfg, k)
	if w.place(all[2]) != engine.PlaceNone {
		t.Error("beyond twice the limit memory comes first")
	}
}
