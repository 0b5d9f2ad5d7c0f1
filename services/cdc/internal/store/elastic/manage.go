package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// EnsureIndex returns the name of the live index. If the cluster has no index, it creates the first one with its alias.
// It is idempotent and may run in several processes at once. The error is a fault.
func (s *Store) EnsureIndex(ctx context.Context) (string, error) {
	for range 3 {
		layout, err := s.Layout(ctx)
		if err != nil {
			return "", err
		}
		err = s.checkLive(layout)
		live, _ := layout.Live()
		if !errors.Is(err, ErrNoIndex) || len(layout) > 0 {
			return live.Name, err // an operator removed the alias of an index: do not change it
		}
		err = s.create(ctx, s.name(1), map[string]bool{s.Live(): true, userindex.Reader(s.Live(), document.Schema): true})
		if err != nil && !elastic.IsType(err, "resource_already_exists_exception") {
			return "", fault("create index", err)
		}
	}
	return "", outcome.Retry(fmt.Errorf("%w: the index %s comes and goes", ErrNoIndex, s.name(1)))
}

func (s *Store) create(ctx context.Context, name string, aliases map[string]bool) error {
	return s.client.Do(ctx, elastic.Call{Name: "indices.create", Request: esapi.IndicesCreateRequest{Index: name},
		Body: document.Index(s.cfg.settings(), aliases)}, nil)
}

// CreateNext creates the index that a rebuild fills, with the next alias. It returns the name and whether the index is
// new. If a next index exists and fits this program, it is used, so that a rebuild continues where another one stopped.
// An index that was given up is used too, because a comparison finds what it lacks.
func (s *Store) CreateNext(ctx context.Context) (name string, made bool, err error) {
	for range 3 {
		layout, err := s.Layout(ctx)
		if err != nil {
			return "", false, err
		}
		if next, ok := layout.Next(); ok {
			return next.Name, false, next.present()
		}
		if err := s.bindLive(ctx, layout); err != nil {
			return "", false, err
		}
		if left, ok := layout.givenUp(); ok {
			return left.Name, false, s.move(ctx, "take up an index", remove(left.Name, s.givenUp()),
				add(left.Name, s.Next(), true))
		}
		number := 1
		if len(layout) > 0 {
			number = layout[0].Number + 1
		}
		err = s.create(ctx, s.name(number), map[string]bool{s.Next(): true})
		if err == nil {
			return s.name(number), true, nil
		}
		if !elastic.IsType(err, "resource_already_exists_exception") {
			return "", false, fault("create index", err)
		}
	}
	return "", false, outcome.Retry(errors.New("another rebuild makes and drops indexes at the same time"))
}

// TakeOlder adds the next alias to the newest kept index that is older than the live one, and returns its name; empty
// if there is none. An index that already has the alias is used. It returns an error while a rebuild fills a newer
// index.
func (s *Store) TakeOlder(ctx context.Context) (string, error) {
	layout, err := s.Layout(ctx)
	if err != nil {
		return "", err
	}
	live, _ := layout.Live()
	next, ok := layout.Next()
	switch {
	case ok && next.Number > live.Number:
		return "", outcome.Operator(fmt.Errorf("a rebuild fills %s", next.Name),
			"finish it with `cdc rebuild`, or give it up with `cdc rebuild --discard`")
	case ok:
		return next.Name, next.fits()
	}
	for _, index := range layout.Idle() {
		if index.Number > live.Number || index.GivenUp {
			continue
		}
		if err := index.fits(); err != nil {
			return "", err
		}
		if err := s.bindLive(ctx, layout); err != nil {
			return "", err
		}
		return index.Name, s.move(ctx, "take up an index", add(index.Name, s.Next(), true))
	}
	return "", nil
}

// bindLive restores the alias of its schema on the live index. Searches use that alias, as do all writes while there is
// a next index. An index that is no longer live is not changed.
func (s *Store) bindLive(ctx context.Context, layout Layout) error {
	live, ok := layout.Live()
	if !ok || live.Domain != document.VersionDomain || s.target(live).Alias != s.Live() {
		return nil
	}
	return s.move(ctx, "name the live index by its schema", remove(live.Name, s.Live()), add(live.Name, s.Live(), true),
		add(live.Name, userindex.Reader(s.Live(), live.Schema), true))
}

// Names returns the names of the live index, of the index that a rebuild fills (both empty if there is none), and of
// the indexes that are neither, the newest first.
func (s *Store) Names(ctx context.Context) (live, next string, kept []string, err error) {
	layout, err := s.Layout(ctx)
	if err != nil {
		return "", "", nil, err
	}
	if index, ok := layout.Live(); ok {
		live = index.Name
	}
	if index, ok := layout.Next(); ok {
		next = index.Name
	}
	for _, index := range layout.Idle() {
		kept = append(kept, index.Name)
	}
	return live, next, kept, nil
}

// Swap makes the next index the live one in one step. The previous one is kept without an alias.
func (s *Store) Swap(ctx context.Context) error {
	layout, err := s.Layout(ctx)
	if err != nil {
		return err
	}
	next, ok := layout.Next()
	if !ok {
		return outcome.Operator(fmt.Errorf("%w: nothing has the alias %s", ErrNoIndex, s.Next()),
			"the pipeline could not write the new index and gave it up: fix what its log says, then call `cdc rebuild` again")
	}
	return s.move(ctx, "swap indexes", append(s.exchange(layout, next), remove(next.Name, s.Next()))...)
}

// exchange returns the actions that give the live alias and the search alias of its schema to one index and remove them
// from all others.
func (s *Store) exchange(layout Layout, to Index) []any {
	actions := []any{add(to.Name, s.Live(), true), add(to.Name, userindex.Reader(s.Live(), to.Schema), true)}
	for _, index := range layout {
		if index.Name == to.Name {
			continue
		}
		if index.Live {
			actions = append(actions, remove(index.Name, s.Live()))
		}
		for _, reader := range index.Readers {
			actions = append(actions, remove(index.Name, reader))
		}
	}
	return actions
}

// GiveUpNext removes the next alias from an index that a rebuild fills: it is no longer written, cannot become the
// live index, and is never used for a rollback. An index without the alias is ignored.
func (s *Store) GiveUpNext(ctx context.Context, name string) error {
	err := s.move(ctx, "give up the next index", remove(name, s.Next()), add(name, s.givenUp(), false))
	if elastic.IsStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

func (s *Store) move(ctx context.Context, what string, actions ...any) error {
	call := elastic.Call{Name: "indices.update_aliases", Request: esapi.IndicesUpdateAliasesRequest{}}
	return s.ask(ctx, what, call, object{"actions": actions}, nil)
}

func add(index, alias string, write bool) any {
	return object{"add": object{"index": index, "alias": alias, "is_write_index": write}}
}

func remove(index, alias string) any {
	return object{"remove": object{"index": index, "alias": alias, "must_exist": true}}
}

// Drop deletes an index. A missing index is ignored.
func (s *Store) Drop(ctx context.Context, name string) error {
	err := s.client.Do(ctx,
		elastic.Call{Name: "indices.delete", Request: esapi.IndicesDeleteRequest{Index: []string{name}}, Repeat: true}, nil)
	if elastic.IsStatus(err, http.StatusNotFound) {
		return nil
	}
	return fault("delete index", err)
}

// Refresh makes all writes to target, an index or an alias, visible to scans.
func (s *Store) Refresh(ctx context.Context, target string) error {
	call := elastic.Call{Name: "indices.refresh", Request: esapi.IndicesRefreshRequest{Index: []string{target}}, Repeat: true}
	return s.ask(ctx, "refresh index", call, nil, nil)
}

// AutoCreates reports whether the cluster creates an index on a write to an unknown name. In this case, a delete that
// arrives while the alias is missing would create an index with the name of the alias.
func (s *Store) AutoCreates(ctx context.Context) (bool, error) {
	var answer map[string]map[string]string
	call := elastic.Call{Name: "cluster.get_settings", Repeat: true,
		Request: esapi.ClusterGetSettingsRequest{
			IncludeDefaults: new(true), FlatSettings: new(true), FilterPath: []string{`*.action\.auto_create_index`}}}
	if err := s.ask(ctx, "read cluster settings", call, nil, &answer); err != nil {
		return false, err
	}
	for _, level := range []string{"transient", "persistent", "defaults"} {
		if value, ok := answer[level]["action.auto_create_index"]; ok {
			return value == "true", nil
		}
	}
	return true, nil
}

// Count returns the number of documents in target at the last refresh, including stubs.
func (s *Store) Count(ctx context.Context, target string) (int64, error) {
	var answer struct{ Count int64 }
	call := elastic.Call{Name: "count", Request: esapi.CountRequest{Index: []string{target}}, Repeat: true}
	return answer.Count, s.ask(ctx, "count documents", call, nil, &answer)
}
