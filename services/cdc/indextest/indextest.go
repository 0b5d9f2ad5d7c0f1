// Package indextest lends the real index of patients to the tests of those who search it: the mapping, the documents
// and the operations that the pipeline itself would send, on the engine of the tests.
package indextest

import (
	"slices"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

// What an index of this pipeline says of itself.
const (
	VersionDomain = document.VersionDomain
	Schema        = document.Schema
)

const batch = 1000 // operations of a bulk

// Row is a row of user_meta.
type Row = projection.Row

// Index is an index of the test's own, with five shards behind an alias.
type Index struct {
	server *enginetest.Server
	t      testing.TB
}

// New makes an index that is deleted when t ends.
func New(t testing.TB) *Index {
	t.Helper()
	return &Index{server: enginetest.Ensured(t), t: t}
}

// URL returns the base address of the engine.
func (i *Index) URL() string { return i.server.URL() }

// Alias returns the name to search.
func (i *Index) Alias() string { return i.server.Alias }

// Put writes rows as the pipeline does, the blanks of former laboratories included, and makes them visible. A row
// without a Rev has the Rev 1.
func (i *Index) Put(rows ...Row) {
	i.t.Helper()
	maker := document.NewMaker(document.RevVersions{})
	var ops []document.Op
	for _, row := range rows {
		row.Rev = max(row.Rev, 1)
		ops = append(ops, maker.Write(&row)...)
	}
	for chunk := range slices.Chunk(ops, batch) {
		i.send(chunk)
	}
	if err := i.server.Refresh(i.t.Context(), i.Alias()); err != nil {
		i.t.Fatal(err)
	}
}

func (i *Index) send(ops []document.Op) {
	i.t.Helper()
	fates, err := i.server.Bulk(i.t.Context(), i.Alias(), ops)
	if err != nil {
		i.t.Fatal(err)
	}
	for n, fate := range fates {
		if fate.Verdict != indexsync.Written && fate.Verdict != indexsync.Superseded {
			i.t.Fatalf("patient %d: %s %s", ops[n].ID, fate.Kind, fate.Advice)
		}
	}
}
