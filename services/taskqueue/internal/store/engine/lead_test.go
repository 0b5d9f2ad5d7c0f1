package engine_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func TestOneProcessAtATimeLeadsAndAnotherTakesOverWithAHigherNumber(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Addr, 0, suiteSettings())
	lead := func(shard int, owner string, d time.Duration) int64 {
		t.Helper()
		fence, err := q.Lead(t.Context(), shard, owner, d)
		if err != nil {
			t.Fatal(err)
		}
		return fence
	}
	if lead(0, "a", time.Hour) != 1 || lead(0, "b", time.Hour) != 0 {
		t.Error("the first one leads")
	}
	if lead(0, "a", 30*time.Millisecond) != 1 {
		t.Error("a leader that stays has another number")
	}
	if lead(1, "b", time.Hour) != 1 {
		t.Error("another shard has another leader")
	}
	wait(t)(50 * time.Millisecond)
	if lead(0, "b", time.Hour) != 2 || lead(0, "a", time.Hour) != 0 {
		t.Error("the second one leads, want the first one")
	}
}

func TestAReaperOfFormerTimesChangesNothing(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Addr, 0, suiteSettings())
	id := job.NewGenerator(clock.System{}).Next(0, job.Lane{Channel: job.Webhook})
	batch := engine.Batch{IdempotencyKey: "k", RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{{ID: id, Body: []byte("x")}}}
	if _, err := q.Enqueue(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 1}); err != nil || len(c.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(c.Jobs), err)
	}
	old, err := q.Lead(t.Context(), 0, "a", time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	wait(t)(suiteSettings().Lease + 20*time.Millisecond)
	now, err := q.Lead(t.Context(), 0, "b", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	expired, err := q.Expired(t.Context(), 0, job.Webhook, 10)
	if err != nil || len(expired) != 1 {
		t.Fatalf("%d expired, %v", len(expired), err)
	}
	list := []engine.Settlement{{ID: id, Token: expired[0].Token, Op: engine.OpRelease}}
	if verdicts, err := q.Reap(t.Context(), 0, job.Webhook, old, list); err != nil || verdicts[0] != engine.VerdictLost {
		t.Errorf("a deposed reaper: %v, %v", verdicts, err)
	}
	if verdicts, err := q.Reap(t.Context(), 0, job.Webhook, now, list); err != nil || verdicts[0] != engine.VerdictDone {
		t.Errorf("the reaper: %v, %v", verdicts, err)
	}
}

// TestALeadershipFromAWrongClockEnds: the clock of Redis was an hour ahead and was set back, or a replica with a slower
// clock became the master, and the leader died. Without a leader nothing reaps, archives or releases parked jobs.
func TestALeadershipFromAWrongClockEnds(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Addr, 0, suiteSettings())
	first, err := q.Lead(t.Context(), 0, "a", time.Hour) // as five seconds of a clock that is an hour ahead
	if err != nil || first == 0 {
		t.Fatal(first, err)
	}
	if second, err := q.Lead(t.Context(), 0, "b", 5*time.Second); err != nil || second <= first {
		t.Errorf("fencing number %d, %v; want one above %d", second, err, first)
	}
	if third, err := q.Lead(t.Context(), 0, "a", 5*time.Second); err != nil || third != 0 {
		t.Errorf("two processes lead: %d, %v", third, err)
	}
}
