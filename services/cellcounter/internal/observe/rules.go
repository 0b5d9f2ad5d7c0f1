package observe

import (
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
)

// Bounds of a count.
const (
	MaxCells = 100
	// MaxTotal is the largest number of cells of a count; it equals the largest target.
	MaxTotal = 10_000
	// Observers is the largest number of counts of one report.
	Observers = 2
)

// Errors that callers see.
var (
	ErrNoReport = apperr.New(apperr.NotFound, "REPORT_NOT_FOUND", "There is no such report in this laboratory")
	ErrSigned   = apperr.New(apperr.Conflict, "REPORT_SIGNED",
		"The report is signed, so its counts cannot be changed; remove the signature first")
	ErrDismissed = apperr.New(apperr.Conflict, "REPORT_DISMISSED",
		"The report is dismissed, so its counts cannot be changed")
	ErrSameObserver = apperr.New(apperr.Conflict, "SAME_OBSERVER",
		"The other count of this report is yours: the second observer must be another person; save as the first, "+
			"or have someone else count")
	errOtherTest = apperr.InvalidField("test_id", "The report is not of this test; load the keys of the report's own test")
)

// Report holds the fields of a report that determine whether its counts may change.
type Report struct {
	ID, BillID, TestID int64
	Signed, Dismissed  bool
}

// admits returns an error if the report is closed or belongs to another test.
func (r Report) admits(testID int64) error {
	switch {
	case r.TestID != testID:
		return errOtherTest
	case r.Signed:
		return ErrSigned
	case r.Dismissed:
		return ErrDismissed
	}
	return nil
}

// previous returns the stored count that c replaces, or nil. It returns ErrSameObserver if the other count of the
// report is by the same person.
func (c Count) previous(stored []Count) (*Count, error) {
	var replaced *Count
	for _, other := range stored {
		switch {
		case other.Observer == c.Observer:
			replaced = &other
		case isSame(other.CountedBy, c.CountedBy):
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

// isSame reports whether both may be the same person; the name may differ. A row of another program may lack the kind.
// It then counts as the same person, so that no one confirms their own count.
func isSame(stored, now authn.Actor) bool {
	return stored.ID == now.ID && (stored.Kind == now.Kind || stored.Kind == "")
}

// Check returns an error for tallies that cannot be a count: none or too many, repeated cells, numbers out of range.
func Check(tallies []counting.Tally) error {
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
func checkCells(tallies []counting.Tally, known map[int64]bool) error {
	var fields []apperr.Field
	for i, t := range tallies {
		if !known[t.CellID] {
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id",
				Message: fmt.Sprintf("there is no cell %d; GET cells/ lists them", t.CellID)})
		}
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	return nil
}
