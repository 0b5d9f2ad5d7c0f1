package engine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	random "math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func withShards(n int) engine.Settings {
	s := engine.DefaultSettings()
	s.Shards = n
	return s
}

// placement builds the batch of a key with a job for each window; no windows: one job.
func placement(t testing.TB, key string, windows ...string) engine.Placement {
	ids := job.NewGenerator(clock.System{}, rand.Reader)
	return func(_ context.Context, shard int) (engine.Batch, error) {
		b := engine.Batch{IdempotencyKey: key, RequestHash: "h", KeepKey: time.Hour}
		for i := range max(1, len(windows)) {
			id, err := ids.Next(shard, job.Lane{Channel: job.Webhook, Priority: job.Moderate})
			if err != nil {
				return b, err
			}
			one := engine.NewJob{ID: id, Body: (&job.Body{Task: 4, LabID: 12}).Encode(nil)}
			if len(windows) > 0 {
				one.DueMs = clock.System{}.Now().Add(time.Hour).UnixMilli()
				one.Window = &engine.Window{Key: windows[i]}
			}
			b.Jobs = append(b.Jobs, one)
		}
		return b, nil
	}
}

func place(t testing.TB, q *engine.Redis, home, key string, windows ...string) engine.Accepted {
	t.Helper()
	a, err := q.Place(t.Context(), home, placement(t, key, windows...))
	if err != nil {
		t.Fatalf("place %s: %v", key, err)
	}
	return a
}

func TestAQueueHasAsManyShardsAsWereEverWanted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	few, many := open(t, server.Addr, 0, withShards(4)), open(t, server.Addr, 0, withShards(16))
	for _, q := range []*engine.Redis{few, many, few} {
		if err := q.RefreshShards(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if few.Shards() != 16 || many.Shards() != 16 {
		t.Errorf("%d and %d shards, want 16", few.Shards(), many.Shards())
	}
}

func TestAKeyOfBeforeAGrowthIsRecognisedForItsLife(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	few := open(t, server.Addr, 0, withShards(4))
	before := map[string]job.ID{}
	for i := range 40 {
		key := fmt.Sprint(i)
		before[key] = place(t, few, key, key).IDs[0]
		before["w"+key] = place(t, few, "owner"+key, "r"+key, "w"+key).IDs[0]
	}
	many := open(t, server.Addr, 0, withShards(16))
	for i := range 40 {
		key := fmt.Sprint(i)
		if again := place(t, many, key, key); !again.Replay || again.IDs[0] != before[key] {
			t.Errorf("key %s is job %s after the growth, was %s", key, again.IDs[0], before[key])
		}
		if joined := place(t, many, "owner"+key, "s"+key, "w"+key); joined.IDs[0] != before["w"+key] {
			t.Errorf("window %s is job %s after the growth, was %s", key, joined.IDs[0], before["w"+key])
		}
	}
	used := map[int]bool{}
	for i := range 200 {
		used[place(t, many, fmt.Sprint("new", i), fmt.Sprint("new", i)).IDs[0].Shard()] = true
	}
	if len(used) != 16 {
		t.Errorf("new keys are on %d shards", len(used))
	}
}

// Processes that do not know of a growth yet place the same keys as those that do.
func TestProcessesThatDisagreeAboutTheNumberPlaceEveryKeyOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const keys = 300
	few := open(t, server.Addr, 0, withShards(4))
	if err := few.RefreshShards(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards found
	found := map[string]map[job.ID]bool{}
	note := func(key string, id job.ID) {
		mu.Lock()
		defer mu.Unlock()
		if found[key] == nil {
			found[key] = map[job.ID]bool{}
		}
		found[key][id] = true
	}
	var group sync.WaitGroup
	run := func(q *engine.Redis, seed uint64) {
		group.Go(func() {
			for _, i := range random.New(random.NewPCG(seed, 1)).Perm(keys) {
				key := fmt.Sprint(i)
				note(key, place(t, q, key, key).IDs[0])
				note("w"+key, place(t, q, "owner"+key, fmt.Sprint("r", seed, key), "w"+key).IDs[0])
			}
		})
	}
	for n := range 3 {
		run(few, uint64(n))
	}
	for n := range 3 { // they grow the queue while the others work
		run(open(t, server.Addr, 0, withShards(16)), uint64(10+n))
	}
	group.Wait()
	for key, ids := range found {
		if len(ids) != 1 {
			t.Errorf("%s is %d jobs", key, len(ids))
		}
	}
}

func TestWindowsOfOneRequestAreWhollyOnOneShardOrRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	few, many := open(t, server.Addr, 0, withShards(1)), open(t, server.Addr, 0, withShards(16))
	before := place(t, few, "owner-of-two", "r1", "a")
	if _, err := many.Place(t.Context(), "owner-of-two", placement(t, "r2", "a", "b")); !errors.Is(err, engine.ErrWindowsApart) {
		t.Errorf("a request over an old and a new window: %v", err)
	}
	if joined := place(t, many, "owner-of-two", "r3", "a"); joined.IDs[0] != before.IDs[0] {
		t.Errorf("joined %s, want %s", joined.IDs[0], before.IDs[0])
	}
	opened := place(t, many, "owner-of-two", "r4", "b")
	if again := place(t, few, "owner-of-two", "r5", "b"); again.IDs[0] != opened.IDs[0] {
		t.Errorf("a process that was late opened %s beside %s", again.IDs[0], opened.IDs[0])
	}
}

func TestAPauseHoldsOnTheShardsThatComeLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	few := open(t, server.Addr, 0, withShards(2))
	if err := few.Pause(t.Context(), engine.ChannelTarget(job.SMS), clock.System{}.Now()); err != nil {
		t.Fatal(err)
	}
	many := open(t, server.Addr, 0, withShards(8))
	if err := many.RefreshShards(t.Context()); err != nil {
		t.Fatal(err)
	}
	paused := func(shard int) bool {
		t.Helper()
		list, err := many.Paused(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		_, is := list[engine.ChannelTarget(job.SMS)]
		return is
	}
	for shard := range 8 {
		if !paused(shard) {
			t.Errorf("shard %d works", shard)
		}
	}
	if err := few.Resume(t.Context(), engine.ChannelTarget(job.SMS)); err != nil {
		t.Fatal(err)
	}
	for shard := range 8 {
		if paused(shard) {
			t.Errorf("shard %d is still paused", shard)
		}
	}
}

func TestJobsUnderTheTagsOfAFormerVersionAreNotLeftBehindInSilence(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	if err := server.Client().Set(t.Context(), "tq:{01}:n", 7, 0).Err(); err != nil {
		t.Fatal(err)
	}
	g := engine.NewGate(open(t, server.Addr, 0, withShards(4)), engine.Fast, func([]string) {})
	if err := g.Check(t.Context()); !errors.Is(err, engine.ErrFormerTags) {
		t.Errorf("got %v", err)
	}
	if _, err := g.Enqueue(t.Context(), engine.Batch{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("it accepts: %v", err)
	}
}
