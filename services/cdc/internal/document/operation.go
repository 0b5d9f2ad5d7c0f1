package document

import (
	"slices"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Op is one write to the index.
type Op struct {
	ID      int64
	Route   int64 // routing value: a laboratory
	Version int64
	Body    []byte // JSON of the document; nil deletes it
}

// Versions derives document versions from a row's rev.
type Versions interface {
	Blank(rev int64) int64    // version of a stub on the route of a laboratory that the patient has left
	Document(rev int64) int64 // version of the document, or of the stub of a deleted patient
	Removal(rev int64) int64  // version of the deletion of a document or stub
}

// RevVersions derives versions as described in the package comment.
type RevVersions struct{}

// Blank returns 2·rev.
func (RevVersions) Blank(rev int64) int64 { return 2 * rev }

// Document returns 2·rev + 1.
func (RevVersions) Document(rev int64) int64 { return 2*rev + 1 }

// Removal returns 2·rev + 2.
func (RevVersions) Removal(rev int64) int64 { return 2*rev + 2 }

// RevOf returns the rev from which a version was derived.
func RevOf(version int64) int64 { return version / 2 }

// Maker creates the index operations for rows of user_meta.
type Maker struct {
	encoder  *Encoder
	versions Versions
	others   map[int]*Maker // makers for older schemas
}

// NewMaker returns a Maker for an index of the current schema. versions is RevVersions{} except in tests.
func NewMaker(versions Versions) *Maker {
	m := &Maker{encoder: NewEncoder(), versions: versions, others: map[int]*Maker{}}
	for schema := OldSchema; schema < Schema; schema++ {
		m.others[schema] = &Maker{encoder: NewEncoderOf(schema), versions: versions}
	}
	return m
}

// Of returns the Maker for an index of the given schema, from OldSchema to Schema.
func (m *Maker) Of(schema int) *Maker {
	if other := m.others[schema]; other != nil {
		return other
	}
	return m
}

// Encoder returns the encoder of the maker's documents.
func (m *Maker) Encoder() *Encoder { return m.encoder }

// Write returns the operations that write row to the index: stubs on the routes of laboratories that the patient left,
// then the document on the patient's own route. routes are further laboratories that may still have documents of the
// patient, in any order, duplicates allowed.
func (m *Maker) Write(row *projection.Row, routes ...int64) []Op {
	left := others(row, routes)
	ops := make([]Op, 0, len(left)+1)
	for _, lab := range left {
		ops = append(ops,
			Op{ID: row.UserID, Route: lab, Version: m.versions.Blank(row.Rev), Body: m.encoder.Stub(row.UserID, lab, row.Rev)})
	}
	return append(ops, m.Own(row))
}

// Own returns the operation that writes row's document on its own route.
func (m *Maker) Own(row *projection.Row) Op {
	op := Op{ID: row.UserID, Route: row.LabID, Version: m.versions.Document(row.Rev)}
	if row.IsDeleted {
		op.Body = m.encoder.Stub(row.UserID, row.LabID, row.Rev)
	} else {
		op.Body = m.encoder.Document(row)
	}
	return op
}

// Remove returns the operations that delete a patient's documents on all routes in row and in routes.
func (m *Maker) Remove(row *projection.Row, routes ...int64) []Op {
	labs := append(others(row, routes), row.LabID)
	ops := make([]Op, 0, len(labs))
	for _, lab := range labs {
		ops = append(ops, m.Delete(row.UserID, lab, row.Rev))
	}
	return ops
}

// Delete returns the operation that deletes one document of the given rev.
func (m *Maker) Delete(userID, route, rev int64) Op {
	return Op{ID: userID, Route: route, Version: m.versions.Removal(rev)}
}

// others returns the laboratories of a row and of routes in ascending order, without the row's current one.
func others(row *projection.Row, routes []int64) []int64 {
	all := slices.Concat(row.FormerLabIDs, routes)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(lab int64) bool { return lab == row.LabID || lab == 0 })
}
