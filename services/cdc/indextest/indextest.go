// Package indextest creates patient indexes for tests of their readers. The indexes have the real mapping and are
// filled with the pipeline's code.
package indextest

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

// Metadata of an index of this pipeline.
const (
	VersionDomain = document.VersionDomain
	Schema        = document.Schema
)

const batch = 1000 // operations per bulk request

// Row is a row of user_meta.
type Row = projection.Row

// Index is a test index with five shards behind an alias.
type Index struct {
	server *enginetest.Server
	t      testing.TB
}

// New creates an index, which is deleted when t ends.
func New(t testing.TB) *Index {
	t.Helper()
	return &Index{server: enginetest.Ensured(t), t: t}
}

// NewOld creates an index with the previous schema, as a program of the previous version does.
func NewOld(t testing.TB) *Index {
	t.Helper()
	i := &Index{server: enginetest.Open(t), t: t}
	i.server.CreateOld("_v1")
	return i
}

// Rebuild creates an index with the current schema and rows, and switches the alias to it.
func (i *Index) Rebuild(rows ...Row) {
	i.t.Helper()
	if _, _, err := i.server.CreateNext(i.t.Context()); err != nil {
		i.t.Fatal(err)
	}
	i.put(i.server.Next(), rows)
	if err := i.server.Swap(i.t.Context()); err != nil {
		i.t.Fatal(err)
	}
}

// Rollback switches the alias back to the previous index.
func (i *Index) Rollback() {
	i.t.Helper()
	_, err := i.server.TakeOlder(i.t.Context())
	if err == nil {
		err = i.server.Swap(i.t.Context())
	}
	if err != nil {
		i.t.Fatal(err)
	}
}

// URL returns the base address of the engine.
func (i *Index) URL() string { return i.server.URL() }

// Alias returns the index name that searches use.
func (i *Index) Alias() string { return i.server.Alias }

// Put writes rows as the pipeline does, including blank documents for previous laboratories, and refreshes the index. A
// Rev of 0 becomes 1.
func (i *Index) Put(rows ...Row) {
	i.t.Helper()
	i.put(i.server.Live(), rows)
}

func (i *Index) put(target string, rows []Row) {
	i.t.Helper()
	to, err := i.server.Target(i.t.Context(), target)
	if err != nil {
		i.t.Fatal(err)
	}
	maker := document.NewMaker(document.RevVersions{}).Of(to.Schema)
	var ops []document.Op
	for _, row := range rows {
		row.Rev = max(row.Rev, 1)
		ops = append(ops, maker.Write(&row)...)
	}
	for chunk := range slices.Chunk(ops, batch) {
		i.send(target, chunk)
	}
	if err := i.server.Refresh(i.t.Context(), target); err != nil {
		i.t.Fatal(err)
	}
}

func (i *Index) send(target string, ops []document.Op) {
	i.t.Helper()
	fates, err := i.server.Bulk(i.t.Context(), target, ops)
	if err != nil {
		i.t.Fatal(err)
	}
	for n, fate := range fates {
		if fate.Verdict != indexsync.Written && fate.Verdict != indexsync.Superseded {
			i.t.Fatalf("patient %d: %s %s", ops[n].ID, fate.Kind, fate.Advice)
		}
	}
}
