package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
)

// Key identifies one observer's count.
type Key struct {
	ReportID, TestID int64
	Observer         int // from 1
}

// Count is the count of one observer.
type Count struct {
	Observer  int
	Tallies   []counting.Tally
	CountedBy authn.Actor
	CountedAt int64 // epoch seconds
}

// Access limits the reports that a caller may count for: all reports of a laboratory, or those on one doctor's bills.
type Access struct {
	Lab      authn.LabScope
	OwnBills bool
	DoctorID int64 // the doctor of the bills; set if OwnBills is true
}

// Store reads and changes counts. Methods return ErrNoReport for a report outside the access.
type Store interface {
	// Counts returns the counts of a report, ordered by observer.
	Counts(ctx context.Context, a Access, reportID, testID int64) ([]Count, error)
	// ChangeCounts locks the report, loads the facts, calls decide and applies the decision, all or nothing. decide may
	// be called more than once.
	ChangeCounts(ctx context.Context, a Access, reportID, testID int64,
		decide func(Facts) (Decision, error)) (Decision, error)
}

// Facts holds everything that saving a count depends on.
type Facts struct {
	Report Report
	Counts []Count        // for the report's test, ordered by observer
	Cells  map[int64]bool // ids of all cells
}

// Decision is the result of saving a count.
type Decision struct {
	Put    *Count             // the count to store, replacing the observer's earlier one; nil: nothing changes
	Log    *activitylog.Entry // the entry about a replaced count; nil: none
	Counts []Count            // all counts of the report after the change, ordered by observer
}

// Counter is the use case. It is safe for concurrent use.
type Counter struct {
	store Store
	clock clock.Clock
}

// New returns the use case over store.
func New(store Store, c clock.Clock) *Counter { return &Counter{store, c} }

// Comparison holds the counts of a report and, if there are two, their agreement.
type Comparison struct {
	Counts     []Count
	Agreements []counting.Agreement // empty with one observer
}

// Save stores an observer's count and returns all counts of the report. An earlier count of the observer is replaced
// and recorded in the activity log. Errors: NotFound; Invalid for a count that does not fit the report's test; Conflict
// for a signed or dismissed report, or when the other count is by the same person.
func (c *Counter) Save(ctx context.Context, a Access, key Key, count Count) (Comparison, error) {
	if key.Observer < 1 || key.Observer > Observers {
		return Comparison{}, apperr.InvalidField("observer", fmt.Sprintf("observer must be from 1 to %d", Observers))
	}
	if err := Check(count.Tallies); err != nil {
		return Comparison{}, err
	}
	now := c.clock.Now()
	count.Observer, count.CountedAt = key.Observer, now.Unix()
	d, err := c.store.ChangeCounts(ctx, a, key.ReportID, key.TestID,
		func(f Facts) (Decision, error) { return Decide(f, key.TestID, count, now) })
	if err != nil {
		return Comparison{}, err
	}
	return compare(d.Counts), nil
}

// Decide returns the decision for saving a count. The same tallies by the same person change nothing; another count
// replaces the previous one of the observer and is logged.
func Decide(f Facts, testID int64, count Count, now time.Time) (Decision, error) {
	if err := f.Report.admits(testID); err != nil {
		return Decision{}, err
	}
	if err := checkCells(count.Tallies, f.Cells); err != nil {
		return Decision{}, err
	}
	previous, err := count.previous(f.Counts)
	if err != nil {
		return Decision{}, err
	}
	switch {
	case previous == nil:
		return Decision{Put: &count, Counts: count.among(f.Counts)}, nil
	case slices.Equal(previous.Tallies, count.Tallies) && isSame(previous.CountedBy, count.CountedBy):
		return Decision{Counts: f.Counts}, nil
	}
	return Decision{Put: &count, Counts: count.among(f.Counts), Log: &activitylog.Entry{
		Category: activitylog.CellCountReplaced, Context: logContext, ReportID: f.Report.ID, BillID: f.Report.BillID,
		Actor: count.CountedBy, At: now,
		Text: fmt.Sprintf("Cell count of observer %d replaced", count.Observer),
		Meta: replaced{testID, count.Observer, activitylog.Change[stored]{Old: storedOf(*previous), New: storedOf(count)}},
	}}, nil
}

// logContext groups the entries of this service in the activity log.
const logContext = "CELL_COUNTER"

// replaced is the metadata of the activity-log entry about a replaced count.
type replaced struct {
	TestID   int64 `json:"test_id"`
	Observer int   `json:"observer"`
	activitylog.Change[stored]
}

type stored struct {
	CountedByKind authn.ActorKind `json:"counted_by_kind"`
	CountedBy     int64           `json:"counted_by"`
	CountedAt     int64           `json:"counted_at"`
	Counts        []Document      `json:"counts"`
}

func storedOf(c Count) stored {
	return stored{c.CountedBy.Kind, c.CountedBy.ID, c.CountedAt, DocumentsOf(c.Tallies)}
}

// Document is the stored JSON form of a tally.
type Document struct {
	CellID  int64 `json:"cell_id"`
	Count   int   `json:"count"`
	InTotal bool  `json:"include_in_total"`
}

// DocumentsOf returns the stored form of tallies.
func DocumentsOf(tallies []counting.Tally) []Document {
	documents := make([]Document, len(tallies))
	for i, t := range tallies {
		documents[i] = Document{t.CellID, t.Count, t.InTotal}
	}
	return documents
}

// Load returns the counts of a report and their agreement. Errors: NotFound.
func (c *Counter) Load(ctx context.Context, a Access, reportID, testID int64) (Comparison, error) {
	counts, err := c.store.Counts(ctx, a, reportID, testID)
	if err != nil {
		return Comparison{}, err
	}
	return compare(counts), nil
}

func compare(counts []Count) Comparison {
	result := Comparison{Counts: counts}
	if len(counts) == Observers {
		result.Agreements = counting.Compare(counts[0].Tallies, counts[1].Tallies)
	}
	return result
}
