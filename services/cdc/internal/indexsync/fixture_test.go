package indexsync_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// event returns a change of one row of user_meta as the connector writes it.
func event(op change.Op, row projection.Row) change.Record {
	list := func(ids []int64) any {
		text, _ := json.Marshal(ids)
		return string(text)
	}
	deleted := 0
	if row.IsDeleted {
		deleted = 1
	}
	image := map[string]any{"user_id": row.UserID, "lab_id": row.LabID, "former_lab_ids": list(row.FormerLabIDs), "full_name": row.FullName,
		"is_deleted": deleted, "rev": row.Rev}
	if row.SampleIDs != nil {
		text, _ := json.Marshal(row.SampleIDs)
		image["sample_ids"] = string(text)
	}
	value := map[string]any{"op": op, "after": image}
	if op == change.Delete {
		value = map[string]any{"op": op, "before": image}
	}
	text, _ := json.Marshal(value)
	return change.Record{Topic: "lab.lab.user_meta", Key: fmt.Appendf(nil, `{"user_id":%d}`, row.UserID), Value: text}
}

// index is a fake index. It returns the scripted fates, then accepts everything.
type index struct {
	mu     sync.Mutex
	script []func(ops []document.Op) ([]indexsync.Fate, error) // guarded by mu
	sent   []request                                           // guarded by mu
}

type request struct {
	target string
	ops    []document.Op
}

func (i *index) Bulk(_ context.Context, target string, ops []document.Op) ([]indexsync.Fate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sent = append(i.sent, request{target, slices.Clone(ops)})
	if len(i.script) == 0 {
		return make([]indexsync.Fate, len(ops)), nil
	}
	next := i.script[0]
	i.script = i.script[1:]
	return next(ops)
}

// say returns a response with the given fates; the last one applies to all further operations.
func say(fates ...indexsync.Verdict) func([]document.Op) ([]indexsync.Fate, error) {
	return func(ops []document.Op) ([]indexsync.Fate, error) {
		out := make([]indexsync.Fate, len(ops))
		for i := range out {
			out[i].Verdict = fates[min(i, len(fates)-1)]
			if out[i].Verdict != indexsync.Written {
				out[i].Kind = "kind"
			}
		}
		return out, nil
	}
}

// refuse returns a response that rejects the whole request.
func refuse(v indexsync.Verdict, cause indexsync.Cause) func([]document.Op) ([]indexsync.Fate, error) {
	return func([]document.Op) ([]indexsync.Fate, error) {
		return nil, &indexsync.Refusal{Verdict: v, Cause: cause, Kind: "kind", Advice: "fix it", Err: errors.New("refused")}
	}
}

func lose([]document.Op) ([]indexsync.Fate, error) { return nil, errors.New("connection reset") }

// observed is a fake Observer that counts calls.
type observed struct {
	mu     sync.Mutex
	sent   int            // guarded by mu
	resent map[string]int // guarded by mu
}

func (o *observed) Sent(ops int, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent += ops
}

func (o *observed) Resent(ops int, kind string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.resent == nil {
		o.resent = map[string]int{}
	}
	o.resent[kind] += ops
}

func config() indexsync.WriterConfig {
	return indexsync.WriterConfig{Operations: 100, Bytes: 1 << 20, Concurrent: 4, FirstRetry: 100 * time.Millisecond, MaxRetry: 2 * time.Second, Patience: 10 * time.Second}
}

func newWriter(i indexsync.Index, o *observed, cfg indexsync.WriterConfig) *indexsync.Writer {
	return indexsync.NewWriter(indexsync.WriterDeps{Config: cfg, Index: i, Observer: o, Clock: clock.System{}, Jitter: func() float64 { return 1 }})
}

// world holds the dependencies of a sink.
type world struct {
	phase     phase.Phase
	targets   []indexsync.Target
	givenUp   []string
	giveUp    error // result of GiveUpNext
	err       error // result of the lookup
	lookups   int
	truncated []string
}

func (w *world) Phase(context.Context) (phase.Phase, error) { return w.phase, nil }

func (w *world) Targets(context.Context) ([]indexsync.Target, error) {
	w.lookups++
	return w.targets, w.err
}

func (w *world) GiveUpNext(_ context.Context, index string) error {
	w.givenUp = append(w.givenUp, index)
	return w.giveUp
}

func (w *world) Truncated(_ context.Context, table string) error {
	w.truncated = append(w.truncated, table)
	return nil
}

func newWorld() *world { return &world{phase: phase.Running, targets: targets("user_details")} }

// targets returns targets of the current schema for aliases, with an index behind each.
func targets(aliases ...string) []indexsync.Target {
	var all []indexsync.Target
	for _, alias := range aliases {
		all = append(all, indexsync.Target{Alias: alias, Index: alias + "_v1", Schema: document.Schema})
	}
	return all
}

func newSink(t testing.TB, i indexsync.Index, w *world, versions document.Versions) *indexsync.Sink {
	t.Helper()
	return indexsync.NewSink(indexsync.Deps{Lookup: w, Writer: newWriter(i, &observed{}, config()), Phases: w, Tables: w, Versions: versions, Clock: clock.System{}})
}

// shards is a fake index that stores documents as a server does: one per id and shard, regardless of the route.
type shards struct {
	of   func(route int64) int
	docs map[shardKey]shardDoc
}

type shardKey struct {
	shard int
	id    int64
}

// shardDoc is a document, or the version that the server keeps of a deleted one.
type shardDoc struct {
	version int64
	route   int64
	body    string // "" for a deleted one
}

func newShards(of func(route int64) int) *shards {
	return &shards{of: of, docs: map[shardKey]shardDoc{}}
}

func (s *shards) clone() *shards { return &shards{of: s.of, docs: maps.Clone(s.docs)} }

func (s *shards) apply(op document.Op) indexsync.Fate {
	key := shardKey{s.of(op.Route), op.ID}
	if old, ok := s.docs[key]; ok && op.Version < old.version {
		return indexsync.Fate{Verdict: indexsync.Superseded, Kind: "version_conflict_engine_exception"}
	}
	s.docs[key] = shardDoc{op.Version, op.Route, string(op.Body)}
	return indexsync.Fate{}
}

func (s *shards) Bulk(_ context.Context, _ string, ops []document.Op) ([]indexsync.Fate, error) {
	fates := make([]indexsync.Fate, len(ops))
	for i, op := range ops {
		fates[i] = s.apply(op)
	}
	return fates, nil
}

// seen is a result of a search in one laboratory.
type seen struct {
	LabID int64 `json:"lab_id"`
	ID    int64 `json:"user_id"`
	Rev   int64 `json:"rev"`
}

func (s *shards) search() []seen {
	var all []seen
	for _, doc := range s.docs {
		if doc.body == "" {
			continue
		}
		var d struct {
			seen
			Deleted bool `json:"is_deleted"`
		}
		if json.Unmarshal([]byte(doc.body), &d) == nil && !d.Deleted {
			all = append(all, d.seen)
		}
	}
	slices.SortFunc(all, func(a, b seen) int { return int(a.ID - b.ID) })
	return all
}
