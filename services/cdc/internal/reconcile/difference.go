package reconcile

import (
	"bytes"
	"fmt"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// Kind is what is wrong about a patient in a laboratory.
type Kind string

// The kinds.
const (
	// Projection: user_meta is not what the sources say, or lacks the patient.
	Projection Kind = "projection"
	// Missing: a patient of the laboratory has no document.
	Missing Kind = "missing"
	// Stale: the document is of another revision than the row.
	Stale Kind = "stale"
	// Content: the document is of the row's revision and says something else.
	Content Kind = "content"
	// Orphan: a document shows a patient whom the laboratory does not have.
	Orphan Kind = "orphan"
	// WrongRoute: a document lies where no read of its laboratory looks.
	WrongRoute Kind = "wrong_route"
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Projection, Missing, Stale, Content, Orphan, WrongRoute} }

// Difference is one thing that is wrong. It is comparable: the same twice is a difference that stays.
type Difference struct {
	Kind    Kind
	LabID   int64
	UserID  int64
	Route   int64 // of the document at fault; 0 without one
	Version int64 // of the document at fault; 0 without one
	Rev     int64 // of the row; 0 without one
}

// String names ids and versions, nothing of the patient's data.
func (d Difference) String() string {
	return fmt.Sprintf("laboratory %d, patient %d: %s (row rev %d, document version %d on route %d)", d.LabID, d.UserID,
		d.Kind, d.Rev, d.Version, d.Route)
}

// behind reports whether the row's own document fixes the difference: the index has none, an older one, or another one
// of the same revision.
func (d Difference) behind() bool {
	switch d.Kind {
	case Missing, Content:
		return true
	case Stale:
		return d.Version < document.RevVersions{}.Document(d.Rev)
	}
	return false
}

// judge compares a patient's row with what the index says of the patient in a laboratory. row is nil, or of another
// laboratory, when the laboratory does not have the patient; entries are the ones that speak of the laboratory.
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

// own compares a row with the document on its own route, either nil when there is none.
func (j judge) own(row *projection.Row, own *document.Entry) (Kind, bool) {
	switch {
	case row == nil:
		return Orphan, own != nil && !own.Deleted
	case own == nil:
		return Missing, !row.IsDeleted // the stub of a deleted patient is purged one day
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
