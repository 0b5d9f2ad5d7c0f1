package janitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

var errDied = errors.New("the process died here")

// shelf is an archive that fails in a given call, before or after writing.
type shelf struct {
	rows   map[job.ID]job.Record
	writes int
	before map[int]bool
	after  map[int]bool
}

func (s *shelf) Write(_ context.Context, list []janitor.Entry) ([]job.ID, error) {
	s.writes++
	if s.before[s.writes] {
		return nil, errDied
	}
	for _, e := range list {
		if old, ok := s.rows[e.ID]; !ok || e.Record.EndedMs >= old.EndedMs {
			s.rows[e.ID] = e.Record
		}
	}
	if s.after[s.writes] {
		return nil, errDied
	}
	return nil, nil
}

func (s *shelf) Purge(context.Context, time.Time) (int64, error) { return 0, nil }
func (s *shelf) PurgeBatch() int64                               { return 10 }

// queue is an engine that fails before or after removing jobs from the archive queue.
type queue struct {
	*enginetest.Model
	trims int
	fail  map[int]bool
}

func (q *queue) TrimEnds(ctx context.Context, shard int, e engine.Ends) (bool, error) {
	q.trims++
	if q.fail[q.trims] {
		return false, errDied
	}
	went, err := q.Model.TrimEnds(ctx, shard, e)
	if q.fail[-q.trims] {
		return false, errDied
	}
	return went, err
}

type archived map[string]int

func (c archived) Archived(outcome string, n int) { c[outcome] += n }

func end(t *testing.T, q *enginetest.Model, ids *job.Generator, n int) map[job.ID]bool {
	t.Helper()
	batch := engine.Batch{IdempotencyKey: fmt.Sprint(n, clock.System{}.Now().UnixNano()), RequestHash: "h", KeepKey: time.Minute}
	for range n {
		id := ids.Next(0, job.Lane{Channel: job.Webhook, Priority: job.Low})
		batch.Jobs = append(batch.Jobs, engine.NewJob{ID: id, Body: []byte{}})
	}
	if _, err := q.Enqueue(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	all := map[job.ID]bool{}
	for turn := 1; len(all) < n; turn++ {
		c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 250, Turn: turn})
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range c.Jobs {
			op, state := engine.OpSucceed, job.Finished
			if i%3 == 0 {
				op, state = engine.OpFail, job.Failed
			}
			r := job.Record{State: state, LabID: 12, EndedMs: 1000}
			if _, err := q.Settle(t.Context(), 0, job.Webhook, []engine.Settlement{{ID: j.ID, Token: c.Token, Op: op, Payload: r.Encode(nil)}}); err != nil {
				t.Fatal(err)
			}
			all[j.ID] = true
		}
	}
	return all
}

// every returns true, for a process that leads all shards.
func every(int) bool { return true }

func openEnds(t *testing.T) (*enginetest.Model, *job.Generator) {
	t.Helper()
	set := engine.DefaultSettings()
	set.Archive = true
	return enginetest.New(clock.System{}, set), job.NewGenerator(clock.System{})
}

func TestACrashAtAnyStepLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	q, ids := openEnds(t)
	want := end(t, q, ids, 1700) // four pages
	s := &shelf{rows: map[job.ID]job.Record{}, before: map[int]bool{1: true, 4: true}, after: map[int]bool{2: true, 6: true}}
	flaky := &queue{Model: q, fail: map[int]bool{1: true, -3: true}}
	seen := archived{}
	rounds := 0
	for ; rounds < 20; rounds++ { // each error stands for a process that died; the next round is its successor
		a := &janitor.Archive{Queue: flaky, Store: s, Observer: seen, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Age: time.Hour}
		if err := a.RunOnce(t.Context(), every); err == nil {
			break
		}
	}
	if rounds < 6 {
		t.Errorf("only %d rounds failed: the test did not test", rounds)
	}
	if len(s.rows) != len(want) {
		t.Errorf("%d of %d ends are archived", len(s.rows), len(want))
	}
	for id := range want {
		if r, ok := s.rows[id]; !ok || r.LabID != 12 {
			t.Fatalf("%s: %+v", id, r)
		}
	}
	if left, err := q.OldestEnds(t.Context(), 0, 10); err != nil || len(left.IDs) != 0 {
		t.Errorf("%d ends left, %v", len(left.IDs), err)
	}
}

func TestAJobThatLivesAgainIsNotArchivedAndItsSecondEndIs(t *testing.T) {
	t.Parallel()
	q, ids := openEnds(t)
	s := &shelf{rows: map[job.ID]job.Record{}}
	seen := archived{}
	a := &janitor.Archive{Queue: q, Store: s, Observer: seen, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Age: time.Hour}
	var id job.ID
	for id = range end(t, q, ids, 1) {
		died := job.Record{State: job.Failed, LabID: 12, EndedMs: 1000}
		if ok, err := q.RetryFailed(t.Context(), []engine.Revival{{ID: id, Body: []byte{}, Observed: died.Encode(nil)}}, 0); err != nil || !ok[0] {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	if err := a.RunOnce(t.Context(), every); err != nil || len(s.rows) != 0 || seen["gone"] != 1 {
		t.Fatalf("%v, %v, %v", s.rows, seen, err)
	}
	c, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Webhook, Max: 1, Turn: 1})
	if err != nil || len(c.Jobs) != 1 {
		t.Fatal(len(c.Jobs), err)
	}
	r := job.Record{State: job.Finished, EndedMs: 3000}
	if _, err := q.Settle(t.Context(), 0, job.Webhook, []engine.Settlement{{ID: id, Token: c.Token, Op: engine.OpSucceed, Payload: r.Encode(nil)}}); err != nil {
		t.Fatal(err)
	}
	if err := a.RunOnce(t.Context(), every); err != nil || s.rows[id].State != job.Finished {
		t.Errorf("got %v, %v, want job.Finished", s.rows, err)
	}
}
