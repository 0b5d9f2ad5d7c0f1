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

// Key names one observer's count.
type Key struct {
	ReportID, TestID int64
	Observer         int // from 1
}

// Count is what one observer counted.
type Count struct {
	Observer  int
	Tallies   []counting.Tally
	CountedBy authn.Actor
	CountedAt int64 // epoch seconds
}

// Access is the set of reports that a caller counts for: all of a laboratory, or those on one doctor's bills.
type Access struct {
	Lab      authn.LabScope
	OwnBills bool
	DoctorID int64 // with OwnBills
}

// Store keeps counts. A report outside the access is ErrNoReport.
type Store interface {
	// Counts returns the counts of a report by observer.
	Counts(ctx context.Context, a Access, reportID, testID int64) ([]Count, error)
	// ChangeCounts loads the facts of a report's counts under the lock of the report, calls decide and applies the
	// decision, all or nothing. decide may be called more than once.
	ChangeCounts(ctx context.Context, a Access, reportID, testID int64,
		decide func(Facts) (Decision, error)) (Decision, error)
}

// Facts is everything that saving a count depends on.
type Facts struct {
	Report Report
	Counts []Count        // of the report's test, by observer
	Cells  map[int64]bool // ids of all cells
}

// Decision is what is stored of a count.
type Decision struct {
	Put    *Count             // replaces the observer's earlier count; nil: nothing changes
	Log    *activitylog.Entry // nil: none
	Counts []Count            // all counts of the report afterwards, by observer
}

// Counter is the use case.
type Counter struct {
	store Store
	clock clock.Clock
}

// New returns the use case over store.
func New(store Store, c clock.Clock) *Counter { return &Counter{store, c} }

// Comparison is the counts of a report, and what they say of each other once there are two.
type Comparison struct {
	Counts     []Count
	Agreements []counting.Agreement // empty with one observer
}

// Save keeps an observer's count in place of an earlier one, which goes to the activity log, and returns all counts of
// the report. Errors: NotFound, Invalid for a count that cannot be one of the report's test, Conflict after the report
// was signed and when the other count is the same person's.
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

// Decide admits a count. The same count of the same person again changes nothing.
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

// replaced is what the activity log keeps of a count.
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

// Document is a tally as it is stored.
type Document struct {
	CellID  int64 `json:"cell_id"`
	Count   int   `json:"count"`
	InTotal bool  `json:"include_in_total"`
}

// DocumentsOf returns tallies as they are stored.
func DocumentsOf(tallies []counting.Tally) []Document {
	documents := make([]Document, len(tallies))
	for i, t := range tallies {
		documents[i] = Document{t.CellID, t.Count, t.InTotal}
	}
	return documents
}

// Load returns the counts of a report.
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
