package audit_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// fixture is a queue with helpers that corrupt its data.
type fixture struct {
	t      *testing.T
	queue  *engine.Redis
	client *redis.Client
	ids    *job.Generator
}

func open(t *testing.T) *fixture {
	t.Helper()
	server := redistest.Start(t, "--appendfsync", "no")
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	set := engine.DefaultSettings()
	set.Archive = true
	q := engine.New(engine.Config{Client: client, Bells: client, Settings: set})
	return &fixture{t: t, queue: q, client: client, ids: job.NewGenerator(clock.System{})}
}

func (b *fixture) enqueue(n int, later time.Duration) []job.ID {
	b.t.Helper()
	batch := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
	for range n {
		id := b.ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Moderate})
		due := int64(0)
		if later > 0 {
			due = clock.System{}.Now().Add(later).UnixMilli()
		}
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, DueMs: due, Body: (&job.Body{Task: 4, LabID: 12, Data: []byte("secret")}).Encode(nil)})
	}
	batch.IdempotencyKey = string(batch.Jobs[0].ID)
	accepted, err := b.queue.Enqueue(b.t.Context(), batch)
	if err != nil {
		b.t.Fatal(err)
	}
	return accepted.IDs
}

func (b *fixture) claim(n int) engine.Claim {
	b.t.Helper()
	c, err := b.queue.Claim(b.t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: n, Turn: 1})
	if err != nil || len(c.Jobs) != n {
		b.t.Fatalf("%d jobs, %v", len(c.Jobs), err)
	}
	return c
}

func (b *fixture) end(op engine.Op, state job.State) job.ID {
	b.t.Helper()
	b.enqueue(1, 0)
	c := b.claim(1)
	r := job.Record{State: state, LabID: 12, EndedMs: 1}
	if _, err := b.queue.Settle(b.t.Context(), 0, job.Webhook, []engine.Settlement{{ID: c.Jobs[0].ID, Token: c.Token, Op: op, Payload: r.Encode(nil)}}); err != nil {
		b.t.Fatal(err)
	}
	return c.Jobs[0].ID
}

func (b *fixture) check() audit.Report {
	b.t.Helper()
	r, err := audit.Check(b.t.Context(), b.queue)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func rules(r audit.Report) map[audit.Rule][]string {
	out := map[audit.Rule][]string{}
	for _, v := range r.Violations {
		out[v.Rule] = append(out[v.Rule], v.Text)
	}
	return out
}

func (b *fixture) state(id job.ID) (place engine.Place, record *job.Record) {
	b.t.Helper()
	s, err := b.queue.Info(b.t.Context(), []job.ID{id})
	if err != nil {
		b.t.Fatal(err)
	}
	if s[0].Record != nil {
		if record, err = job.DecodeRecord(s[0].Record); err != nil {
			b.t.Fatal(err)
		}
	}
	return s[0].Place, record
}

func TestAQueueInEveryStateIsSound(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.end(engine.OpSucceed, job.Finished)
	b.end(engine.OpFail, job.Failed)
	b.enqueue(3, time.Hour)
	running := b.enqueue(2, 0)
	c := b.claim(2)
	if _, err := b.queue.Renew(t.Context(), 0, job.Webhook, []engine.Renewal{{ID: running[0], Mine: c.Token, Proposed: c.Token + 1000}}); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.queue.MarkIntent(t.Context(), running[1], c.Token, "p"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := b.queue.Cancel(t.Context(), []engine.Cancellation{{ID: running[0]}}); err != nil {
		t.Fatal(err)
	}
	r := b.check()
	if len(r.Violations) > 0 || r.Checked["bodies"] != 6 || r.Checked["leases"] != 2 || r.Checked["lane"] != 3 {
		t.Errorf("%+v", r)
	}
}

// damage violates every rule once and returns the expected violations.
func (b *fixture) damage() map[audit.Rule][]string {
	b.t.Helper()
	ctx, do := b.t.Context(), b.client
	lane, leases, body := "tq:{00}:l:webhook:1", "tq:{00}:act:webhook", "tq:{00}:b:"
	twice := b.enqueue(1, 0)[0]
	b.claim(1)
	ended := b.end(engine.OpSucceed, job.Finished)
	naked := b.enqueue(1, time.Hour)[0]
	orphan := b.enqueue(1, time.Hour)[0]
	left := b.end(engine.OpSucceed, job.Finished)
	bare, nameless, ghost := b.end(engine.OpFail, job.Failed), b.end(engine.OpFail, job.Failed), b.end(engine.OpFail, job.Failed)
	far := b.enqueue(1, 0)[0]
	b.claim(1)
	stray := b.enqueue(1, time.Hour)[0]
	for _, err := range []error{
		do.ZAdd(ctx, lane, redis.Z{Member: string(twice), Score: 9e12}, redis.Z{Member: string(ended), Score: 9e12}, redis.Z{Member: "no id", Score: 1}).Err(),
		do.Set(ctx, body+string(ended), "x", 0).Err(),
		do.Del(ctx, body+string(naked), body+string(bare), body+string(ghost)).Err(),
		do.ZRem(ctx, lane, string(orphan)).Err(),
		do.Set(ctx, body+string(left), "x", 0).Err(),
		do.HDel(ctx, "tq:{00}:dr", string(nameless)).Err(),
		do.ZRem(ctx, "tq:{00}:dead", string(ghost)).Err(),
		do.ZAdd(ctx, leases, redis.Z{Member: string(far), Score: 4e15}).Err(),
		do.HSet(ctx, "tq:{00}:si", string(stray), "p").Err(),
	} {
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return map[audit.Rule][]string{audit.Foreign: {"no id"}, audit.TwoPlaces: {string(twice)}, audit.EndedAndLive: {string(ended)}, audit.NoBody: {string(naked)},
		audit.OrphanBody: {string(orphan), string(left)}, audit.DeadNoBody: {string(bare)}, audit.DeadNoRecord: {string(nameless)},
		audit.GraveNoDead: {string(ghost)}, audit.LeaseFar: {string(far)}, audit.StrayTrace: {string(stray)},
		audit.Unlisted: {"2 flows"}}
}

func TestEveryBrokenRuleIsFoundAndMendedWithoutLosingOrRepeatingATask(t *testing.T) {
	t.Parallel()
	b := open(t)
	healthy := b.enqueue(5, time.Hour)
	want := b.damage()
	got := rules(b.check())
	if diff := cmp.Diff(want, got, cmp.Transformer("sort", sorted)); diff != "" {
		t.Fatalf("violations (-want +got):\n%s", diff)
	}
	for range 3 {
		r := b.check()
		if len(r.Violations) == 0 {
			break
		}
		if _, err := audit.Repair(t.Context(), b.queue, clock.System{}, r); err != nil {
			t.Fatal(err)
		}
	}
	if r := b.check(); len(r.Violations) > 0 {
		t.Fatalf("left: %v", rules(r))
	}
	for rule, ids := range want {
		place := engine.PlaceResult
		switch rule {
		case audit.Foreign, audit.Unlisted:
			continue
		case audit.StrayTrace: // the job itself was sound
			place = engine.PlaceLane
		}
		if got, _ := b.state(job.ID(ids[0])); got != place {
			t.Errorf("%s: place %d, want %d", rule, got, place)
		}
	}
	for rule, state := range map[audit.Rule]job.State{audit.EndedAndLive: job.Finished, audit.GraveNoDead: job.Failed, audit.TwoPlaces: job.Failed} {
		if _, record := b.state(job.ID(want[rule][0])); record == nil || record.State != state {
			t.Errorf("%s: %+v, want state %v", rule, record, state)
		}
	}
	orphan := job.ID(want[audit.OrphanBody][0])
	_, record := b.state(orphan)
	if record == nil || record.State != job.Failed || record.LabID != 12 || !strings.Contains(record.Error, "repaired") {
		t.Fatalf("the orphan's record: %+v", record)
	}
	raw := record.Encode(nil)
	if ok, err := b.queue.RetryFailed(t.Context(), []engine.Revival{{ID: orphan, Body: []byte("again"), Observed: raw}}, time.Minute); err != nil || !ok[0] {
		t.Errorf("people cannot revive the orphan: %v, %v", ok, err)
	}
	if place, _ := b.state(healthy[0]); place != engine.PlaceLane {
		t.Error("a healthy job was touched")
	}
}

func TestARepairLeavesAJobAloneThatMovedMeanwhile(t *testing.T) {
	t.Parallel()
	b := open(t)
	id := b.enqueue(1, 0)[0]
	if err := b.client.HSet(t.Context(), "tq:{00}:si", string(id), "p").Err(); err != nil {
		t.Fatal(err)
	}
	r := b.check()
	c := b.claim(1)
	if ok, err := b.queue.MarkIntent(t.Context(), id, c.Token, "p"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if repaired, err := audit.Repair(t.Context(), b.queue, clock.System{}, r); err != nil || repaired != 0 || len(r.Violations) != 1 {
		t.Errorf("fixed %d of %d, %v", repaired, len(r.Violations), err)
	}
	if n, err := b.client.HLen(t.Context(), "tq:{00}:si").Result(); n != 1 || err != nil {
		t.Error("the mark of a running send was forgotten")
	}
}

func sorted(list []string) map[string]int {
	out := map[string]int{}
	for _, s := range list {
		out[s]++
	}
	return out
}

// watcher is a fake observer that stores the auditor's counts.
type watcher struct {
	checked int
	found   map[audit.Rule]int
}

func (w *watcher) Audited(checked int, found []audit.Violation) {
	w.checked += checked
	for _, v := range found {
		w.found[v.Rule]++
	}
}

func TestTheSlidingSampleComesRoundToEverything(t *testing.T) {
	t.Parallel()
	b := open(t)
	for range 3 {
		b.enqueue(1000, time.Hour)
	}
	want := b.damage()
	w := &watcher{found: map[audit.Rule]int{}}
	a := &audit.Auditor{Queue: b.queue, Leads: func(int) bool { return true }, Observer: w, Log: slog.New(slog.DiscardHandler)}
	for range 40 {
		if err := a.RunOnce(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	for rule := range want {
		if w.found[rule] == 0 {
			t.Errorf("%s was not found among %d checks", rule, w.checked)
		}
	}
}
