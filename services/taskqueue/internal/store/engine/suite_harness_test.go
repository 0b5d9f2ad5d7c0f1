package engine_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// wholeQueue has all operations of an engine. Callers in the service declare only the part that they use.
type wholeQueue interface {
	Enqueue(context.Context, engine.Batch) (engine.Accepted, error)
	LookupWindow(ctx context.Context, shard int, key string) (job.ID, error)
	Claim(context.Context, engine.ClaimRequest) (engine.Claim, error)
	ReadBodies(ctx context.Context, jobs []engine.Leased) error
	Settle(context.Context, int, job.Channel, []engine.Settlement) ([]engine.Verdict, error)
	Lead(ctx context.Context, shard int, owner string, d time.Duration) (int64, error)
	Reap(context.Context, int, job.Channel, int64, []engine.Settlement) ([]engine.Verdict, error)
	Renew(context.Context, int, job.Channel, []engine.Renewal) ([]engine.Renewed, error)
	MarkIntent(ctx context.Context, id job.ID, token int64, provider string) (bool, error)
	Expired(ctx context.Context, shard int, c job.Channel, most int) ([]engine.Expired, error)
	Cancel(context.Context, []engine.Cancellation) ([]engine.Cancelled, error)
	Reschedule(context.Context, engine.Move) (engine.Moved, error)
	Resolve(context.Context, engine.Resolution) (bool, error)
	RetryFailed(ctx context.Context, list []engine.Revival, delay time.Duration) ([]bool, error)
	Info(context.Context, []job.ID) ([]engine.Snapshot, error)
	DeadParts(ctx context.Context, shard int) (map[job.Flow]engine.Part, error)
	TrimDead(ctx context.Context, shard int, list []engine.Member) (int64, error)
	OldestEnds(ctx context.Context, shard, most int) (engine.Ends, error)
	HowEnded(ctx context.Context, ids []job.ID) ([]engine.Ended, error)
	TrimEnds(ctx context.Context, shard int, observed engine.Ends) (bool, error)
	ForgetResults(ctx context.Context, ids []job.ID) error
	Depths(ctx context.Context, shard int) (engine.Depths, error)
	FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error)
	Browse(ctx context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error)
	Ahead(ctx context.Context, shard int, l job.Lane, first time.Time, hours int) (engine.Ahead, error)
	Pause(ctx context.Context, t engine.Target, at time.Time) error
	Resume(ctx context.Context, t engine.Target) error
	Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error)
	Groups(ctx context.Context, shard int) ([]engine.Group, error)
	Unpark(ctx context.Context, shard int, g engine.Group, most int) (int, error)
	Holds(ctx context.Context) (engine.Holds, error)
	Hold(ctx context.Context, to job.Destination, d time.Duration) error
	TryHeld(ctx context.Context, to job.Destination, d time.Duration) (time.Duration, error)
	FreeHeld(ctx context.Context, to job.Destination) error
}

// harness is an empty engine under test. Advance moves its clock by d.
type harness struct {
	Queue   wholeQueue
	Advance func(d time.Duration)
}

// suiteSettings returns times short enough for a test in real time.
func suiteSettings() engine.Settings {
	s := engine.DefaultSettings()
	s.Lease = 400 * time.Millisecond
	s.Ageing, s.WindowKeepAfter = 2*time.Second, 200*time.Millisecond
	s.LaneLimit, s.FlowLimit = 2000, 1500
	s.Archive, s.EndsLimit = true, 600
	return s
}

// fixture is a harness with helpers for the suite.
type fixture struct {
	harness
	t   *testing.T
	ids *job.Generator
	n   int
}

func newFixture(t *testing.T, h harness) *fixture {
	return &fixture{harness: h, t: t, ids: job.NewGenerator(clock.System{})}
}

func lane(c job.Channel, p job.Priority) job.Lane { return job.Lane{Channel: c, Priority: p} }

func (b *fixture) id(l job.Lane) job.ID {
	b.t.Helper()
	id := b.ids.Next(0, l)
	return id
}

// enqueue adds n jobs to a lane. due is in epoch milliseconds; 0: now.
func (b *fixture) enqueue(l job.Lane, n int, due int64) []job.ID {
	b.t.Helper()
	batch := engine.Batch{IdempotencyKey: string(b.id(l)), RequestHash: "h", KeepKey: time.Minute}
	for range n {
		batch.Jobs = append(batch.Jobs,
			engine.NewJob{ID: b.id(l), DueMs: due, Body: (&job.Body{Task: 4, LabID: 12}).Encode(nil)})
	}
	return b.accept(batch)
}

func (b *fixture) accept(batch engine.Batch) []job.ID {
	b.t.Helper()
	accepted, err := b.Queue.Enqueue(b.t.Context(), batch)
	if err != nil {
		b.t.Fatalf("enqueue: %v", err)
	}
	return accepted.IDs
}

func (b *fixture) claim(c job.Channel, most int) engine.Claim {
	b.t.Helper()
	b.n++
	claim, err := b.Queue.Claim(b.t.Context(), engine.ClaimRequest{Channel: c, Max: most, Turn: b.n})
	if err == nil {
		err = b.Queue.ReadBodies(b.t.Context(), claim.Jobs)
	}
	if err != nil {
		b.t.Fatalf("claim: %v", err)
	}
	return claim
}

func (b *fixture) settle(c job.Channel, list ...engine.Settlement) []engine.Verdict {
	b.t.Helper()
	verdicts, err := b.Queue.Settle(b.t.Context(), 0, c, list)
	if err != nil {
		b.t.Fatalf("settle: %v", err)
	}
	return verdicts
}

// lead makes the suite the leader of shard 0 and returns the fencing number.
func (b *fixture) lead() int64 {
	b.t.Helper()
	fence, err := b.Queue.Lead(b.t.Context(), 0, "suite", time.Hour)
	if err != nil || fence == 0 {
		b.t.Fatalf("lead: %d, %v", fence, err)
	}
	return fence
}

func (b *fixture) info(id job.ID) engine.Snapshot {
	b.t.Helper()
	list, err := b.Queue.Info(b.t.Context(), []job.ID{id})
	if err != nil {
		b.t.Fatalf("info: %v", err)
	}
	return list[0]
}

func (b *fixture) nowMs() int64 {
	b.t.Helper()
	return b.info(b.id(lane(job.SMS, job.Low))).NowMs
}

func (b *fixture) wantPlace(id job.ID, want engine.Place) engine.Snapshot {
	b.t.Helper()
	s := b.info(id)
	if s.Place != want {
		b.t.Errorf("job is in place %d, want %d", s.Place, want)
	}
	checkInvariants(b.t, []engine.Snapshot{s}, b.dead())
	return s
}

func (b *fixture) dead() map[job.ID]bool {
	b.t.Helper()
	return deadSet(b.t, b.Queue)
}

// deadSet returns the dead letters of shard 0.
func deadSet(t testing.TB, q wholeQueue) map[job.ID]bool {
	t.Helper()
	list, err := q.Browse(t.Context(), engine.Range{List: engine.ListDead, Flow: engine.AllFlows}, engine.Member{}, 100_000)
	if err != nil {
		t.Fatalf("list dead: %v", err)
	}
	set := map[job.ID]bool{}
	for _, d := range list {
		set[d.ID] = true
	}
	return set
}

// checkInvariants checks rules that hold for jobs at rest: a live job has a body, a finished one has a record, and only
// a dead letter has both.
func checkInvariants(t testing.TB, list []engine.Snapshot, dead map[job.ID]bool) {
	t.Helper()
	for _, s := range list {
		live := s.Place == engine.PlaceLane || s.Place == engine.PlaceLease
		switch {
		case live && len(s.Body) == 0:
			t.Errorf("%s lives without a body", s.ID)
		case live && dead[s.ID]:
			t.Errorf("%s is live and dead", s.ID)
		case s.Place == engine.PlaceResult && len(s.Record) == 0:
			t.Errorf("%s ended without a record", s.ID)
		case s.Place == engine.PlaceResult && dead[s.ID] != (len(s.Body) > 0):
			t.Errorf("%s ended: dead %v, body %d bytes", s.ID, dead[s.ID], len(s.Body))
		case s.Place == engine.PlaceNone && len(s.Body) > 0:
			t.Errorf("%s is nowhere but has a body", s.ID)
		}
	}
}

func record(state job.State) []byte {
	r := job.Record{State: state, Task: 4, LabID: 12}
	return r.Encode(nil)
}

func same(a, b []byte) bool { return bytes.Equal(a, b) }
