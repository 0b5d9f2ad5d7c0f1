package observe

import (
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Limits of a count.
const (
	MaxCells = 100
	// MaxTotal is the maximum number of cells in a count; it equals the largest target.
	MaxTotal = 10_000
	// Observers is the maximum number of counts per report.
	Observers = 2
	// maxSampleID is the width of the column in characters.
	maxSampleID = 64
)

// Errors for callers.
var (
	ErrNoReport = apperr.New(apperr.NotFound, "REPORT_NOT_FOUND", "There is no such report in this laboratory")
	ErrSigned   = apperr.New(apperr.Conflict, "REPORT_SIGNED",
		"The report is signed, so its counts cannot be changed; remove the signature first")
	ErrDismissed = apperr.New(apperr.Conflict, "REPORT_DISMISSED",
		"The report is dismissed, so its counts cannot be changed")
	ErrSampleChanged = apperr.New(apperr.Conflict, "SAMPLE_CHANGED",
		"The report has another sample by now than the one that was counted, so the count is not saved; count the present sample")
	ErrSameObserver = apperr.New(apperr.Conflict, "SAME_OBSERVER",
		"The other count of this report is yours: the second observer must be another person; save as the first, "+
			"or have someone else count")
	errOtherTest = apperr.InvalidField("test_id", "The report is not of this test; load the keys of the report's own test")
)

// errNoCount is returned for a replacement if there is no stored count.
var errNoCount = apperr.New(apperr.Conflict, "NO_STORED_COUNT",
	"No count of this observer is stored, so there is none of that version; load the report's counts, and save without if_version")

// errOther returns the error for replacing a count that the caller did not see. Only its data names the person who
// counted, because messages contain no names.
func (c Count) errOther() error {
	total := 0
	for _, t := range c.Tallies {
		total += t.Count
	}
	at := time.Unix(c.CountedAt, 0).UTC().Format(time.RFC3339)
	return apperr.Newf(apperr.Conflict, "COUNT_STORED",
		"%d cells of observer %d are stored, counted at %s (version %d); to replace them, look at them and save with if_version %d",
		total, c.Observer, at, c.Version, c.Version).WithData(map[string]any{
		"observer": c.Observer, "counted_by_name": c.CountedBy.Name, "counted_at": c.CountedAt, "total": total,
		"version": c.Version,
	})
}

// Report holds the fields of a report that determine whether its counts may change.
type Report struct {
	ID, BillID, TestID int64
	SampleID           string // empty if the sample has no number yet
	Signed, Dismissed  bool
}

// admits returns an error if the report is closed, belongs to another test, or no longer has the counted sample. An
// empty number of either sample fits any.
func (r Report) admits(testID int64, counted string) error {
	switch {
	case r.TestID != testID:
		return errOtherTest
	case r.Signed:
		return ErrSigned
	case r.Dismissed:
		return ErrDismissed
	case counted != "" && r.SampleID != "" && counted != r.SampleID:
		return ErrSampleChanged
	}
	return nil
}

// Given is a tally as a caller sends it.
type Given struct {
	CellID  int64
	Count   int
	InTotal *bool // nil: the default of the cell
}

// Tallies returns the tallies with the defaults of their cells, and a warning for each nucleated red cell that is
// counted in the total.
func Tallies(given []Given, cells map[int64]mapping.Cell) ([]counting.Tally, []apperr.Field) {
	tallies := make([]counting.Tally, len(given))
	var notes []apperr.Field
	for i, g := range given {
		cell := cells[g.CellID]
		tallies[i] = counting.Tally{
			CellID: g.CellID, Count: g.Count, InTotal: cell.InTotal(), NucleatedRed: cell.NucleatedRed,
		}
		if g.InTotal != nil {
			tallies[i].InTotal = *g.InTotal
		}
		if tallies[i].InTotal && cell.NucleatedRed {
			notes = append(notes, apperr.Field{Index: i, Name: "include_in_total", Message: mapping.InTotalNote})
		}
	}
	return tallies, notes
}

// sameAs reports whether c, which may be nil, has the tallies of other and may be by the same person and of the same
// sample.
func (c *Count) sameAs(other Count) bool {
	return c != nil && !c.OtherSample && isSame(c.CountedBy, other.CountedBy) &&
		slices.Equal(DocumentsOf(c.Tallies), DocumentsOf(other.Tallies))
}

// previous returns the stored count that c replaces, or nil. It returns ErrSameObserver if the other count of the
// report's sample is by the same person.
func (c Count) previous(stored []Count) (*Count, error) {
	var replaced *Count
	for _, other := range stored {
		switch {
		case other.Observer == c.Observer:
			replaced = &other
		case !other.OtherSample && isSame(other.CountedBy, c.CountedBy):
			return nil, ErrSameObserver
		}
	}
	return replaced, nil
}

// among returns stored with c in place of the observer's earlier count, ordered by observer.
func (c Count) among(stored []Count) []Count {
	all := slices.DeleteFunc(slices.Clone(stored), func(o Count) bool { return o.Observer == c.Observer })
	all = append(all, c)
	slices.SortFunc(all, func(a, b Count) int { return a.Observer - b.Observer })
	return all
}

// isSame reports whether both may be the same person. The names may differ. A row of another program may lack the kind;
// it then counts as the same person, so that no person confirms their own count.
func isSame(stored, now authn.Actor) bool {
	return stored.ID == now.ID && (stored.Kind == now.Kind || stored.Kind == "")
}

// Check returns an error if the tallies cannot be a count: none or too many, repeated cells, or numbers out of range.
func Check(tallies []Given) error {
	if len(tallies) == 0 || len(tallies) > MaxCells {
		return apperr.InvalidField("counts", fmt.Sprintf("counts must have from 1 to %d elements", MaxCells))
	}
	var fields []apperr.Field
	seen := map[int64]bool{}
	total := 0
	for i, t := range tallies {
		switch {
		case t.CellID <= 0:
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id", Message: "cell_id must be a positive integer"})
		case seen[t.CellID]:
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id",
				Message: fmt.Sprintf("cell_id %d is given twice; add its counts up", t.CellID)})
		case t.Count < 0 || t.Count > MaxTotal:
			fields = append(fields, apperr.Field{Index: i, Name: "count",
				Message: fmt.Sprintf("count must be from 0 to %d", MaxTotal)})
		}
		seen[t.CellID] = true
		total += t.Count
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	if total > MaxTotal {
		return apperr.InvalidField("counts", fmt.Sprintf("counts must add up to %d cells at most", MaxTotal))
	}
	return nil
}

// checkCells returns an error for cells that do not exist.
func checkCells(tallies []Given, known map[int64]mapping.Cell) error {
	var fields []apperr.Field
	for i, t := range tallies {
		if _, ok := known[t.CellID]; !ok {
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id",
				Message: fmt.Sprintf("there is no cell %d; GET cells/ lists them", t.CellID)})
		}
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	return nil
}
