package reconcile

import (
	"bytes"
	"fmt"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Kind is what differs: the row, or its document in one of several ways.
type Kind string

// Kinds of differences, used as metric labels.
const (
	// Projection: the row in user_meta differs from the sources, or is missing.
	Projection Kind = "projection"
	// Missing: a patient of the laboratory has no document.
	Missing Kind = "missing"
	// Stale: the document has another revision than the row.
	Stale Kind = "stale"
	// Content: the document has the row's revision but another content.
	Content Kind = "content"
	// Orphan: a document shows a patient who is not in the laboratory.
	Orphan Kind = "orphan"
	// WrongRoute: a document is on a route that searches of its laboratory do not use.
	WrongRoute Kind = "wrong_route"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Projection, Missing, Stale, Content, Orphan, WrongRoute} }

// Difference is one difference of a patient. It is comparable: if the next comparison finds an equal one, the
// difference persists.
type Difference struct {
	Kind    Kind
	LabID   int64
	UserID  int64
	Route   int64 // route of the wrong document; 0: no document
	Version int64 // version of the wrong document; 0: no document
	Rev     int64 // revision of the row; 0: no row
}

// String returns ids and versions, but no patient data.
func (d Difference) String() string {
	return fmt.Sprintf("laboratory %d, patient %d: %s (row rev %d, document version %d on route %d)", d.LabID, d.UserID,
		d.Kind, d.Rev, d.Version, d.Route)
}

// behind reports whether writing the row's document repairs the difference: the index has no document, an older one, or
// a different one with the same revision.
func (d Difference) behind() bool {
	switch d.Kind {
	case Missing, Content:
		return true
	case Stale:
		return d.Version < document.RevVersions{}.Document(d.Rev)
	}
	return false
}

// judge compares a patient's row with the patient's documents in a laboratory. row is nil, or of another laboratory, if
// the patient is not in this one. entries are the documents of this laboratory.
type judge struct {
	encoder *document.Encoder
}

func (j judge) compare(lab, user int64, row *projection.Row, entries []document.Entry) []Difference {
	if row != nil && row.LabID != lab {
		row = nil
	}
	var all []Difference
	var own *document.Entry
	for i := range entries {
		e := &entries[i]
		switch {
		case e.LabID != lab:
		case e.Route != lab:
			all = append(all, Difference{WrongRoute, lab, user, e.Route, e.Version, revOf(row)})
		default:
			own = e
		}
	}
	if kind, wrong := j.own(row, own); wrong {
		d := Difference{Kind: kind, LabID: lab, UserID: user, Rev: revOf(row)}
		if own != nil {
			d.Route, d.Version = own.Route, own.Version
		}
		all = append(all, d)
	}
	return all
}

// own compares a row with the document on the laboratory's route; either may be nil. It reports whether they differ.
func (j judge) own(row *projection.Row, own *document.Entry) (Kind, bool) {
	switch {
	case row == nil:
		return Orphan, own != nil && !own.Deleted
	case own == nil:
		return Missing, !row.IsDeleted // the stub of a deleted patient may have been purged
	case own.Version != (document.RevVersions{}).Document(row.Rev):
		return Stale, true
	case row.IsDeleted:
		return Content, !own.Deleted
	}
	return Content, !bytes.Equal(own.Source, j.encoder.Document(row))
}

func revOf(row *projection.Row) int64 {
	if row == nil {
		return 0
	}
	return row.Rev
}
