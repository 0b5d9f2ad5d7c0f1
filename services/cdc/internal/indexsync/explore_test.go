package indexsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// flat derives versions without the low bit. It is used to show that the explorer detects the resulting error.
type flat struct{}

func (flat) Blank(rev int64) int64    { return rev }
func (flat) Document(rev int64) int64 { return rev }
func (flat) Removal(rev int64) int64  { return rev }

// tied gives the deletion of a row the same version as the row's document.
type tied struct{ document.RevVersions }

func (tied) Removal(rev int64) int64 { return 2*rev + 1 }

// story is the history of one patient: the laboratory after each event, 0 for a deletion of the patient, -1 for a
// deletion of the row.
type story []int64

const rowGone = -1

// events returns the story's changes of user_meta as the materializer writes them, with previous laboratories and a new
// rev each time.
func (s story) events() (events []change.Record, last projection.Row, gone bool) {
	row := projection.Row{UserID: 1}
	for i, lab := range s {
		rev := int64(10 * (i + 1))
		gone = lab == rowGone
		switch {
		case gone && row.Rev == 0:
			continue // there is no row yet
		case gone:
			events = append(events, event(change.Delete, row))
			row = projection.Row{UserID: 1}
			continue
		case lab == 0 && row.LabID == 0:
			continue
		case lab == 0:
			row.IsDeleted = true
		default:
			if row.LabID != 0 && row.LabID != lab {
				row.FormerLabIDs = append(slices.Clone(row.FormerLabIDs), row.LabID)
			}
			row.FormerLabIDs = slices.DeleteFunc(slices.Clone(row.FormerLabIDs), func(l int64) bool { return l == lab })
			row.LabID, row.IsDeleted = lab, false
		}
		row.Rev = rev
		events = append(events, event(change.Update, row))
	}
	return events, row, gone
}

// want returns the expected final search results.
func want(row projection.Row) []seen {
	if row.Rev == 0 || row.IsDeleted {
		return nil
	}
	return []seen{{LabID: row.LabID, ID: row.UserID, Rev: row.Rev}}
}

// explorer tries every order in which the single operations can reach the index, each once or twice: late, repeated
// after a lost response, and interleaved with those of other processes.
type explorer struct {
	ops     []document.Op
	want    string
	visited map[string]bool
	states  int
}

const deliveries = 2

// explore returns an error for the first wrong final state.
func (e *explorer) explore(s *shards, left []int) error {
	key := fmt.Sprint(left, s.docs)
	if e.visited[key] {
		return nil
	}
	e.visited[key] = true
	e.states++
	if e.rest(left) {
		if got := fmt.Sprint(s.search()); got != e.want {
			return fmt.Errorf("searches find %s instead of %s", got, e.want)
		}
	}
	for i, n := range left {
		if n == 0 {
			continue
		}
		next, after := s.clone(), slices.Clone(left)
		next.apply(e.ops[i])
		after[i]--
		if err := e.explore(next, after); err != nil {
			return fmt.Errorf("v%d on route %d, %w", e.ops[i].Version, e.ops[i].Route, err)
		}
	}
	return nil
}

// rest reports whether every operation was delivered at least once; a writer repeats it until then.
func (e *explorer) rest(left []int) bool {
	return !slices.Contains(left, deliveries)
}

// exploreStories returns the number of states in all stories of three events, and an error for the first wrong one.
func exploreStories(t *testing.T, versions document.Versions, steps []int64, shardOf func(int64) int) (states int, failure error) {
	t.Helper()
	for _, a := range steps {
		for _, b := range steps {
			for _, c := range steps {
				life := story{a, b, c}
				n, err := exploreOne(t, versions, life, shardOf)
				states += n
				if err != nil && failure == nil {
					failure = fmt.Errorf("story %v: %w", life, err)
				}
			}
		}
	}
	return states, failure
}

func exploreOne(t *testing.T, versions document.Versions, life story, shardOf func(int64) int) (int, error) {
	t.Helper()
	events, last, _ := life.events()
	i := &index{}
	sink := newSink(t, i, newWorld(), versions)
	for _, one := range events {
		if _, err := sink.Apply(t.Context(), []change.Record{one}); err != nil {
			t.Fatal(err)
		}
	}
	e := &explorer{want: fmt.Sprint(want(last)), visited: map[string]bool{}}
	for _, r := range i.sent {
		e.ops = append(e.ops, r.ops...)
	}
	left := make([]int, len(e.ops))
	for i := range left {
		left[i] = deliveries
	}
	err := e.explore(newShards(shardOf), left)
	return e.states, err
}

func oneShard(int64) int     { return 0 }
func ownShard(lab int64) int { return int(lab) }
func lifeInTwoLabs() []int64 { return []int64{1, 2, 0, rowGone} }
func patientsOnly() []int64  { return []int64{1, 2, 0} }
func topologies() map[string]func(int64) int {
	return map[string]func(int64) int{"one shard": oneShard, "two shards": ownShard}
}

func TestEveryOrderOfDeliveriesEndsRight(t *testing.T) {
	t.Parallel()
	for name, shardOf := range topologies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, err := exploreStories(t, document.RevVersions{}, lifeInTwoLabs(), shardOf)
			if err != nil {
				t.Error(err)
			}
			if states < 1000 {
				t.Errorf("only %d states", states)
			}
			t.Logf("%d states", states)
		})
	}
}

// TestWithoutTheLowBitAnOrderEndsWrong checks that the explorer detects errors: without the low bit, a late blank
// replaces the patient's document.
func TestWithoutTheLowBitAnOrderEndsWrong(t *testing.T) {
	t.Parallel()
	if _, err := exploreStories(t, flat{}, patientsOnly(), oneShard); err == nil || !strings.Contains(err.Error(), "searches find [] instead of") {
		t.Errorf("routes on one shard: %v", err)
	}
	if _, err := exploreStories(t, flat{}, patientsOnly(), ownShard); err != nil {
		t.Errorf("routes on two shards need no low bit: %v", err)
	}
}

func TestARemovalAtTheDocumentsVersionEndsWrong(t *testing.T) {
	t.Parallel()
	for name, shardOf := range topologies() {
		if _, err := exploreStories(t, tied{}, lifeInTwoLabs(), shardOf); err == nil {
			t.Errorf("%s: the explorer does not see it", name)
		}
	}
}
