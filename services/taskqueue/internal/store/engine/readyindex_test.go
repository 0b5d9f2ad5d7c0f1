package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// waiting enqueues one job for each of the given number of laboratories.
func waiting(t testing.TB, q *engine.Redis, labs int, due time.Time) {
	t.Helper()
	ids := job.NewGenerator(clock.System{})
	for lab := range labs {
		id := ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Low})
		one := engine.NewJob{ID: id, Flow: job.LabFlow(int64(lab)), DueMs: due.UnixMilli(), Body: []byte("x")}
		batch := engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute, Jobs: []engine.NewJob{one}}
		if _, err := q.Enqueue(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}

// commands returns how often scripts called each command, according to the server's statistics.
func commands(t testing.TB, client *redis.Client, do func()) (calls int) {
	t.Helper()
	if err := client.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	do()
	text, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if count, _, ok := strings.Cut(rest, ","); found && ok && strings.HasPrefix(name, "z") {
			calls += atoi(count)
		}
	}
	return calls
}

func atoi(text string) (n int) {
	for _, digit := range text {
		n = 10*n + int(digit-'0')
	}
	return n
}

// TestJobsOfTomorrowCostAClaimNothing checks that jobs due tomorrow cost nothing in a claim or a measurement today,
// however many laboratories have such jobs.
func TestJobsOfTomorrowCostAClaimNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client()
	q := open(t, server.Addr, 0, suiteSettings())
	claim := func() int {
		return commands(t, client, func() {
			c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 10})
			if err != nil || len(c.Jobs) != 0 || (c.NextDueMs > 0 && c.NextDueMs < c.NowMs) {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	measure := func() int {
		return commands(t, client, func() {
			if _, err := q.Depths(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	waiting(t, q, 1, now(t).Add(24*time.Hour))
	oneClaim, oneMeasure := claim(), measure()
	waiting(t, q, 500, now(t).Add(24*time.Hour))
	if many := claim(); many > oneClaim {
		t.Errorf("a claim is %d steps with 500 laboratories, %d with one", many, oneClaim)
	}
	if many := measure(); many > oneMeasure {
		t.Errorf("a measurement is %d steps with 500 laboratories, %d with one", many, oneMeasure)
	}
}

func now(testing.TB) time.Time { return clock.System{}.Now() }

// TestFlowsThatTheReadyIndexLacksAreFoundAgain deletes the ready index of 700 laboratories and checks that it is
// repaired.
func TestFlowsThatTheReadyIndexLacksAreFoundAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	q := open(t, server.Addr, 0, suiteSettings())
	waiting(t, q, 700, now(t))
	if err := server.Client().Del(t.Context(), "tq:{00}:ring:webhook:0").Err(); err != nil {
		t.Fatal(err)
	}
	claimed := func() int {
		c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return len(c.Jobs)
	}
	if n := claimed(); n != 0 {
		t.Fatalf("%d jobs were claimed without a ring", n)
	}
	if n, err := q.UnlistedFlows(t.Context(), 0); err != nil || n != 700 {
		t.Errorf("want 700 unlisted flows, got %d, %v", n, err)
	}
	if n := claimed(); n != 0 {
		t.Fatalf("want no job after a check that only reads, got %d", n)
	}
	if n, err := q.RepairReadyIndex(t.Context(), 0); err != nil || n != 700 {
		t.Errorf("want 700 repaired flows, got %d, %v", n, err)
	}
	if n, err := q.UnlistedFlows(t.Context(), 0); err != nil || n != 0 {
		t.Errorf("want no unlisted flow after the repair, got %d, %v", n, err)
	}
	if n := claimed(); n != 700 {
		t.Errorf("want 700 jobs claimed after the repair, got %d", n)
	}
}

// TestTheBytesOfFlowsAreToldToAllProcesses checks that bytes measured by one process are visible to all, and expire
// when no process measures any more.
func TestTheBytesOfFlowsAreToldToAllProcesses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, other := open(t, server.Addr, 0, suiteSettings()), open(t, server.Addr, 0, suiteSettings())
	for _, want := range []map[job.Flow]int64{{job.LabFlow(1): 7, job.OTPFlow(2): 9}, {job.LabFlow(3): 1 << 40}, {}} {
		if err := one.NoteFlowBytes(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := other.FlowBytes(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("got %v\n%s", err, diff)
		}
	}
}
