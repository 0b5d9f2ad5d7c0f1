package elastic_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

func TestTheFirstIndexIsMadeOnceByMany(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if name, err := s.EnsureIndex(t.Context()); err != nil || name != s.Alias+"_v1" {
				t.Errorf("index %q, error %v", name, err)
			}
		})
	}
	all.Wait()
	layout, err := s.Layout(t.Context())
	want := elastic.Layout{{Name: s.Alias + "_v1", Number: 1, Live: true, Write: true, Schema: 7, Domain: "user_meta.rev", Routing: true, Readers: []string{s.Alias + "_schema7"}}}
	if diff := cmp.Diff(want, layout); err != nil || diff != "" {
		t.Errorf("layout: %v %s", err, diff)
	}
	if targets, err := s.Targets(t.Context()); err != nil || !slices.Equal(targets, []indexsync.Target{{Alias: s.Alias + "_schema7", Schema: 7}}) {
		t.Errorf("targets %+v, error %v", targets, err)
	}
}

func TestWhatAPersonHasToMendIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*enginetest.Server)
		want  string
	}{
		"no index": {func(s *enginetest.Server) { s.Send(http.MethodDelete, "/"+s.Alias+"_v1", nil, nil) }, "no index has the alias"},
		"an index without its alias": {func(s *enginetest.Server) { s.Send(http.MethodDelete, "/"+s.Alias+"_v1/_alias/"+s.Alias, nil, nil) },
			"no index has the alias"},
		"an index in the alias's place": {func(s *enginetest.Server) {
			s.Send(http.MethodDelete, "/"+s.Alias+"_v1", nil, nil)
			s.Send(http.MethodPut, "/"+s.Alias, nil, nil)
		}, "is an index, not an alias"},
		"two indexes and no write index": {func(s *enginetest.Server) {
			s.Send(http.MethodPut, "/"+s.Alias+"_v2", map[string]any{"aliases": map[string]any{s.Alias: map[string]any{}}}, nil)
			s.Send(http.MethodPut, "/"+s.Alias+"_v1/_alias/"+s.Alias, map[string]any{"is_write_index": false}, nil)
		}, "none of them to write to"},
		"another version domain": {func(s *enginetest.Server) {
			s.Send(http.MethodPut, "/"+s.Alias+"_v1/_mapping", `{"_meta":{"version_domain":"kafka.offset","schema":1}}`, nil)
		}, `domain "kafka.offset"`},
		"another schema": {func(s *enginetest.Server) {
			s.Send(http.MethodPut, "/"+s.Alias+"_v1/_mapping", `{"_meta":{"version_domain":"user_meta.rev","schema":99}}`, nil)
		}, "has schema 99"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.Ensured(t)
			c.spoil(s)
			_, err := s.Targets(t.Context())
			var fault *outcome.Fault
			if !errors.As(err, &fault) || !fault.Operator || fault.Advice == "" || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want an operator's fault with %q", err, c.want)
			}
			if _, again := s.EnsureIndex(t.Context()); name != "no index" && (again == nil || again.Error() != err.Error()) {
				t.Errorf("EnsureIndex says %v, Targets %v", again, err)
			}
		})
	}
}

func TestAnIndexIsRebuiltAliasByAlias(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	ctx := t.Context()
	for range 2 { // a second rebuild continues with the index of the first one
		if next, _, err := s.CreateNext(ctx); err != nil || next != s.Alias+"_v2" {
			t.Fatalf("next %q, error %v", next, err)
		}
	}
	if targets, err := s.Targets(ctx); err != nil || !slices.Equal(targets, []indexsync.Target{{Alias: s.Alias + "_next", Index: s.Alias + "_v2", Schema: 7}, {Alias: s.Alias + "_schema7", Schema: 7}}) {
		t.Fatalf("targets %+v, error %v", targets, err)
	}
	if err := s.Swap(ctx); err != nil {
		t.Fatal(err)
	}
	layout, _ := s.Layout(ctx)
	if live, ok := layout.Live(); !ok || live.Name != s.Alias+"_v2" || len(layout.Idle()) != 1 {
		t.Fatalf("layout %+v", layout)
	}
	if err := s.Swap(ctx); !errors.Is(err, elastic.ErrNoIndex) {
		t.Errorf("a second swap: %v", err)
	}
	for range 2 { // a second rollback continues with the index of the first one
		if older, err := s.TakeOlder(ctx); err != nil || older != s.Alias+"_v1" {
			t.Fatalf("older %q, error %v", older, err)
		}
	}
	if err := s.Swap(ctx); err != nil {
		t.Fatal(err)
	}
	if live, next, kept, err := s.Names(ctx); err != nil || live != s.Alias+"_v1" || next != "" || !slices.Equal(kept, []string{s.Alias + "_v2"}) {
		t.Fatalf("live %q, next %q, kept %q, error %v", live, next, kept, err)
	}
	for range 2 {
		if err := s.Drop(ctx, s.Alias+"_v2"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheAliasOfASchemaMovesWithTheLiveOne checks that searches of one schema never read an index of another schema.
func TestTheAliasOfASchemaMovesWithTheLiveOne(t *testing.T) {
	t.Parallel()
	s := enginetest.Open(t)
	ctx := t.Context()
	s.CreateOld("_v1")
	if status := s.Send(http.MethodDelete, "/"+s.Alias+"_v1/_alias/"+s.Alias+"_schema6", nil, nil); status != http.StatusOK { // removed by hand
		t.Fatalf("status %d", status)
	}
	if targets, err := s.Targets(ctx); err != nil || !slices.Equal(targets, []indexsync.Target{{Alias: s.Alias + "_schema6", Schema: 6}}) {
		t.Fatalf("targets %+v, error %v", targets, err)
	}
	readers := func() (all []string) {
		layout, err := s.Layout(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range layout {
			for _, reader := range index.Readers {
				all = append(all, reader+" "+index.Name)
			}
		}
		return all
	}
	if _, _, err := s.CreateNext(ctx); err != nil {
		t.Fatal(err)
	}
	if targets, err := s.Targets(ctx); err != nil || len(targets) != 2 || targets[0].Schema != 7 || targets[1].Schema != 6 {
		t.Errorf("targets %+v, error %v", targets, err)
	}
	for _, step := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return nil }, []string{s.Alias + "_schema6 " + s.Alias + "_v1"}}, // Targets above has added this alias
		{func() error { return s.Swap(ctx) }, []string{s.Alias + "_schema7 " + s.Alias + "_v2"}},
		{func() error { _, err := s.TakeOlder(ctx); return errors.Join(err, s.Swap(ctx)) }, []string{s.Alias + "_schema6 " + s.Alias + "_v1"}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, readers()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnIndexThatWasGivenUpIsFilledAgainBeforeItIsSearched(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	ctx := t.Context()
	next, _, err := s.CreateNext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.GiveUpNext(ctx, next); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Swap(ctx); !errors.Is(err, elastic.ErrNoIndex) {
		t.Errorf("a swap: %v", err)
	}
	if _, _, kept, err := s.Names(ctx); err != nil || !slices.Contains(kept, next) {
		t.Errorf("--discard deletes %q, error %v", kept, err)
	}
	if again, made, err := s.CreateNext(ctx); err != nil || again != next || made {
		t.Fatalf("the next rebuild fills %s, made %v, error %v", again, made, err)
	}
	if err := s.Swap(ctx); err != nil {
		t.Fatal(err)
	}
	if older, err := s.TakeOlder(ctx); err != nil || older != s.Alias+"_v1" {
		t.Errorf("a rollback goes to %q, error %v", older, err)
	}
	if err := s.GiveUpNext(ctx, s.Alias+"_v9"); err != nil { // the index no longer exists
		t.Error(err)
	}
}

func TestWhetherIndexesMakeThemselvesIsKnown(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"defaults":{"action.auto_create_index":"true"}}`:                                                  true,
		`{"defaults":{"action.auto_create_index":"false"}}`:                                                 false,
		`{"persistent":{"action.auto_create_index":"-user_details*,+*"}}`:                                   false,
		`{"transient":{"action.auto_create_index":"true"},"defaults":{"action.auto_create_index":"false"}}`: true,
		`{}`: true,
	} {
		s := scripted(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		if got, err := s.AutoCreates(t.Context()); err != nil || got != want {
			t.Errorf("%s: %v, error %v", body, got, err)
		}
	}
	if auto, err := enginetest.Open(t).AutoCreates(t.Context()); err != nil || auto {
		t.Errorf("the tests' server, which is configured with false: %v, error %v", auto, err)
	}
}
