package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

func TestDataOfAnotherNumberOfShardsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counter string         // claim counter of a queue without a stored number
		noted   map[string]any // stored by previous versions
		refused bool
	}{
		"an empty Redis":                      {},
		"sixteen":                             {counter: "tq:{00}:n", noted: map[string]any{"16": 1}},
		"one":                                 {counter: "tq:{00}:n", noted: map[string]any{"1": 1}, refused: true},
		"more":                                {noted: map[string]any{"32": 1}, refused: true},
		"four that grew":                      {noted: map[string]any{"4": 1, "16": 2}, refused: true},
		"a version from before any was noted": {counter: "tq:{00}:n", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			if c.counter != "" {
				if err := server.Client().Set(t.Context(), c.counter, 7, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if c.noted != nil {
				if err := server.Client().HSet(t.Context(), "tq:shards", c.noted).Err(); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second start reads what the first one stored
				g := engine.NewGate(open(t, server.Addr, 0, engine.DefaultSettings()), engine.Fast, func([]string) {})
				if err := g.Check(t.Context()); errors.Is(err, engine.ErrOtherShards) != c.refused || (err != nil) != c.refused {
					t.Fatalf("refused %v: %v", c.refused, err)
				}
				if !c.refused {
					continue
				}
				if _, err := g.Enqueue(t.Context(), engine.Batch{}); !errors.Is(err, engine.ErrClosed) {
					t.Errorf("it accepts: %v", err)
				}
			}
		})
	}
}

func TestAKeyIsReservedForOneRequest(t *testing.T) {
	t.Parallel()
	q := open(t, redistest.Start(t).Addr, 0, engine.DefaultSettings())
	for i, c := range []struct {
		hash string
		want error
	}{{"aa", nil}, {"aa", nil}, {"bb", engine.ErrConflict}} {
		if err := q.ReserveKey(t.Context(), 3, "k", c.hash, time.Hour); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
	}
}

func TestKeysSpreadOverAllShards(t *testing.T) {
	t.Parallel()
	used := map[int]int{}
	for i := range 1600 {
		used[engine.ShardOf(fmt.Sprint("key-", i))]++
	}
	for shard := range job.Shards {
		if used[shard] < 50 {
			t.Errorf("%d of 1,600 keys are on shard %d", used[shard], shard)
		}
	}
}
