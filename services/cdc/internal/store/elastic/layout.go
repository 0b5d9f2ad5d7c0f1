package elastic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Index is the state of one index of the platform.
type Index struct {
	Name    string
	Number  int // number in its name; 0 for other names
	Live    bool
	Write   bool // the live alias writes to it
	Next    bool // a rebuild is filling it
	GivenUp bool // it was given up during a rebuild, because it lacks changes
	Schema  int
	Domain  string
	Routing bool     // routing is required
	Readers []string // search aliases of schemas that point to it
}

// Layout holds all indexes of the platform, the newest first.
type Layout []Index

// Layout reads all indexes of the platform and their aliases.
func (s *Store) Layout(ctx context.Context) (Layout, error) {
	var answer map[string]struct {
		Aliases map[string]struct {
			Write *bool `json:"is_write_index"`
		}
		Mappings struct {
			Meta struct {
				Domain string `json:"version_domain"`
				Schema int    `json:"schema"`
			} `json:"_meta"`
			Routing struct {
				Required bool `json:"required"`
			} `json:"_routing"`
		}
	}
	call := elastic.Call{Name: "indices.get", Repeat: true,
		Request: esapi.IndicesGetRequest{
			Index: []string{s.cfg.Alias + "*"}, Features: "aliases,mappings", ExpandWildcards: "open",
			FilterPath: []string{"*.aliases", "*.mappings._meta", "*.mappings._routing"}}}
	if err := s.ask(ctx, "look up indexes", call, nil, &answer); err != nil {
		return nil, err
	}
	var all Layout
	for name, found := range answer {
		live, isLive := found.Aliases[s.Live()]
		_, isNext := found.Aliases[s.Next()]
		index := Index{Name: name, Number: s.number(name), Live: isLive, Next: isNext, Schema: found.Mappings.Meta.Schema,
			Domain: found.Mappings.Meta.Domain, Routing: found.Mappings.Routing.Required}
		_, index.GivenUp = found.Aliases[s.givenUp()]
		for alias := range found.Aliases {
			if strings.HasPrefix(alias, s.Live()+"_schema") {
				index.Readers = append(index.Readers, alias)
			}
		}
		index.Write = isLive && live.Write != nil && *live.Write
		if index.Number > 0 || isLive || isNext || name == s.Live() {
			all = append(all, index)
		}
	}
	slices.SortFunc(all, func(a, b Index) int { return b.Number - a.Number })
	return all, nil
}

// number returns N for user_details_vN, and 0 for other names.
func (s *Store) number(name string) int {
	digits, ok := strings.CutPrefix(name, s.cfg.Alias+"_v")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 {
		return 0
	}
	return n
}

func (s *Store) name(number int) string { return s.cfg.Alias + "_v" + strconv.Itoa(number) }

// Live returns the index to which the live alias writes; ok is false if there is none.
func (l Layout) Live() (Index, bool) {
	live := slices.DeleteFunc(slices.Clone(l), func(i Index) bool { return !i.Live })
	if len(live) == 1 {
		return live[0], true
	}
	i := slices.IndexFunc(live, func(i Index) bool { return i.Write })
	if i < 0 {
		return Index{}, false
	}
	return live[i], true
}

// Next returns the index that a rebuild is filling; ok is false if there is none.
func (l Layout) Next() (Index, bool) {
	i := slices.IndexFunc(l, func(i Index) bool { return i.Next })
	if i < 0 {
		return Index{}, false
	}
	return l[i], true
}

// Idle returns the indexes that are neither live nor being filled, the newest first.
func (l Layout) Idle() []Index {
	return slices.DeleteFunc(slices.Clone(l), func(i Index) bool { return i.Live || i.Next || i.Number == 0 })
}

// givenUp returns the newest index that was given up during a rebuild, is newer than the live one, and can be filled by
// this program; ok is false if there is none.
func (l Layout) givenUp() (Index, bool) {
	live, _ := l.Live()
	for _, index := range l.Idle() {
		if index.GivenUp && index.Number > live.Number && index.present() == nil {
			return index, true
		}
	}
	return Index{}, false
}

// fits returns an error with the reason if this program must not write the index.
func (i Index) fits() error {
	switch {
	case i.Domain != document.VersionDomain:
		return outcome.Operator(
			fmt.Errorf("index %s has versions of the domain %q, not %q", i.Name, i.Domain, document.VersionDomain),
			"its versions cannot be compared with ours: make a new index with `cdc rebuild`")
	case !i.Routing:
		return outcome.Operator(fmt.Errorf("index %s does not require routing", i.Name),
			"make a new index with `cdc rebuild`")
	case i.Schema < document.OldSchema || i.Schema > document.Schema:
		return outcome.Operator(
			fmt.Errorf("index %s has schema %d, this program writes schemas %d to %d", i.Name, i.Schema, document.OldSchema,
				document.Schema),
			"make an index of the new schema with `cdc rebuild`; the records wait in their topics",
		)
	}
	return nil
}

// present returns an error with the reason if a rebuild by this program must not fill the index.
func (i Index) present() error {
	if err := i.fits(); err != nil || i.Schema == document.Schema {
		return err
	}
	return outcome.Operator(fmt.Errorf("the unfinished index %s has schema %d, not %d", i.Name, i.Schema, document.Schema),
		"give it up with `cdc rebuild --discard`, then call `cdc rebuild` again")
}

// Targets returns the indexes to write. The next index comes before the live one, so that a writer detects a swap
// before it writes to the live one. If the live index lacks the alias of its schema, Targets adds it. The error is a
// fault: there is no index, or this program must not write it.
func (s *Store) Targets(ctx context.Context) ([]indexsync.Target, error) {
	layout, err := s.Layout(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkLive(layout); err != nil {
		return nil, err
	}
	if err := s.bindLive(ctx, layout); err != nil {
		return nil, err
	}
	live, _ := layout.Live()
	targets := []indexsync.Target{{Alias: userindex.Reader(s.Live(), live.Schema), Schema: live.Schema}}
	if next, ok := layout.Next(); ok && next.fits() == nil {
		targets = slices.Insert(targets, 0, indexsync.Target{Alias: s.Next(), Index: next.Name, Schema: next.Schema})
	}
	return targets, nil
}

// target returns how to write the live index: through the alias of its schema, if it has one. A swap removes that
// alias, so that processes that still write the previous schema detect it.
func (s *Store) target(live Index) indexsync.Target {
	t := indexsync.Target{Alias: s.Live(), Schema: live.Schema}
	if reader := userindex.Reader(s.Live(), live.Schema); slices.Contains(live.Readers, reader) {
		t.Alias = reader
	}
	return t
}

// Target returns the write target for an index, given by its name or one of the aliases. The error is a fault.
func (s *Store) Target(ctx context.Context, target string) (indexsync.Target, error) {
	var none indexsync.Target
	layout, err := s.Layout(ctx)
	if err != nil {
		return none, err
	}
	index, ok := layout.Live()
	t := s.target(index)
	switch target {
	case s.Live():
	case s.Next():
		index, ok = layout.Next()
		t = indexsync.Target{Alias: s.Next(), Index: index.Name, Schema: index.Schema}
	default:
		i := slices.IndexFunc(layout, func(i Index) bool { return i.Name == target })
		if ok = i >= 0; ok {
			index = layout[i]
			t = indexsync.Target{Alias: target, Index: target, Schema: index.Schema}
		}
	}
	if !ok {
		return none, errNoIndex(target)
	}
	return t, index.fits()
}

func (s *Store) checkLive(layout Layout) error {
	if slices.ContainsFunc(layout, func(i Index) bool { return i.Name == s.Live() }) {
		return outcome.Operator(fmt.Errorf("%s is an index, not an alias", s.Live()),
			"something wrote there before the alias was made: delete that index, then run `cdc rebuild`")
	}
	live, ok := layout.Live()
	switch {
	case ok:
		return live.fits()
	case slices.ContainsFunc(layout, func(i Index) bool { return i.Live }):
		return outcome.Operator(fmt.Errorf("the alias %s names several indexes and none of them to write to", s.Live()),
			"leave the alias on one index, or set is_write_index on one")
	}
	return errNoIndex(s.Live())
}

func errNoIndex(alias string) error {
	return outcome.Operator(fmt.Errorf("%w: no index has the alias %s", ErrNoIndex, alias),
		"make and fill one with `cdc rebuild`")
}

// ErrNoIndex is returned if no index has the live alias.
var ErrNoIndex = errors.New("no search index")
