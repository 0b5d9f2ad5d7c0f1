package observe

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

// Saving is a request to store an observer's count.
type Saving struct {
	ReportID, TestID int64
	Observer         int // from 1
	Given            []Given
	By               authn.Actor
	IfVersion        int64  // version of the stored count that the caller saw; 0 if there was none
	SampleID         string // sample that was counted; empty: the present sample of the report
}

// Count is the count of one observer.
type Count struct {
	Observer  int
	Tallies   []counting.Tally
	CountedBy authn.Actor
	CountedAt int64 // epoch seconds
	Version   int64 // from 1, increases with each replacement
	// SampleID is the counted sample as the caller named it. It is stored while the report has no number of its sample,
	// and is empty in counts that were read.
	SampleID string
	// OtherSample is set for a stored count of a previous sample of the report. It takes no part in the comparison, and
	// anyone may count the present sample in its place.
	OtherSample bool
}

// Access limits the reports for which a caller may count: all reports of a laboratory, or those on one doctor's bills.
type Access struct {
	Lab      authn.LabScope
	OwnBills bool
	DoctorID int64 // doctor of the bills; set if OwnBills is true
}

// Store reads and changes counts. Methods return ErrNoReport for a report outside the access.
type Store interface {
	// Counts returns a report and its counts, ordered by observer.
	Counts(ctx context.Context, a Access, reportID, testID int64) (Report, []Count, error)
	// ChangeCounts locks the report, loads the facts, calls decide and applies the decision, all or nothing. decide may be
	// called more than once.
	ChangeCounts(ctx context.Context, a Access, reportID, testID int64,
		decide func(Facts) (Decision, error)) (Decision, error)
	// Waiting returns a page of the reports that wait for a count.
	Waiting(ctx context.Context, s sight.Sight, p worklist.Page) (worklist.List[Waiting], error)
}

// Facts holds all inputs of a decision to save a count.
type Facts struct {
	Report Report
	Counts []Count                // counts for the report's test, ordered by observer
	Cells  map[int64]mapping.Cell // all cells, by id
}

// Decision holds the changes that saving a count makes.
type Decision struct {
	Put    *Count             // count to store, which replaces the observer's earlier one; nil if nothing changes
	Log    *activitylog.Entry // log entry about a replaced count; nil if there is none
	Counts []Count            // all counts of the report after the change, ordered by observer
	Report Report
	// Warnings are about accepted tallies.
	Warnings []apperr.Field
}

// Counter saves and compares counts. Its methods may be called from several goroutines.
type Counter struct {
	store Store
	clock clock.Clock
}

// New returns a use case over store.
func New(store Store, c clock.Clock) *Counter { return &Counter{store, c} }

// Comparison holds the counts of a report and, if there are two, their agreement.
type Comparison struct {
	Report     Report
	Counts     []Count
	Agreements []counting.Agreement // empty if there is only one observer
	Warnings   []apperr.Field       // warnings about the saved count
}

// Save stores an observer's count and returns all counts of the report. An earlier count of the observer is replaced if
// the caller saw its version; the activity log then records it. Errors: NotFound; Invalid for a count that does not fit
// the report's test; Conflict for a signed or dismissed report, if the report has another sample than the counted one,
// if the other count is by the same person, or if the stored count has another version.
func (c *Counter) Save(ctx context.Context, a Access, s Saving) (Comparison, error) {
	if s.Observer < 1 || s.Observer > Observers {
		return Comparison{}, apperr.InvalidField("observer", fmt.Sprintf("observer must be from 1 to %d", Observers))
	}
	if utf8.RuneCountInString(s.SampleID) > maxSampleID {
		return Comparison{}, apperr.InvalidField("sample_id", "sample_id has at most 64 characters")
	}
	if err := Check(s.Given); err != nil {
		return Comparison{}, err
	}
	now := c.clock.Now()
	d, err := c.store.ChangeCounts(ctx, a, s.ReportID, s.TestID,
		func(f Facts) (Decision, error) { return Decide(f, s, now) })
	if err != nil {
		return Comparison{}, err
	}
	result := compare(d.Report, d.Counts)
	result.Warnings = d.Warnings
	return result, nil
}

// Decide returns the decision to save a count. Equal tallies by the same person change nothing, so that a request may
// be repeated. A different count replaces the observer's previous one, if the caller saw that one, and is logged.
func Decide(f Facts, s Saving, now time.Time) (Decision, error) {
	if err := f.Report.admits(s.TestID, s.SampleID); err != nil {
		return Decision{}, err
	}
	if err := checkCells(s.Given, f.Cells); err != nil {
		return Decision{}, err
	}
	count := Count{Observer: s.Observer, CountedBy: s.By, CountedAt: now.Unix(), Version: 1, SampleID: s.SampleID}
	d := Decision{Report: f.Report}
	count.Tallies, d.Warnings = Tallies(s.Given, f.Cells)
	previous, err := count.previous(f.Counts)
	switch {
	case err != nil:
		return Decision{}, err
	case previous.sameAs(count):
		d.Counts = f.Counts
		return d, nil
	case previous == nil && s.IfVersion != 0:
		return Decision{}, errNoCount
	case previous != nil && previous.Version != s.IfVersion:
		return Decision{}, previous.errOther()
	case previous != nil:
		count.Version = previous.Version + 1
		d.Log = count.replaces(*previous, f.Report, s.TestID, now)
	}
	d.Put, d.Counts = &count, count.among(f.Counts)
	return d, nil
}

func (c Count) replaces(previous Count, r Report, testID int64, now time.Time) *activitylog.Entry {
	return &activitylog.Entry{
		Category: activitylog.CellCountReplaced, Context: logContext, ReportID: r.ID, BillID: r.BillID,
		Actor: c.CountedBy, At: now,
		Text: fmt.Sprintf("Cell count of observer %d replaced", c.Observer),
		Meta: replaced{testID, c.Observer, activitylog.Change[stored]{Old: storedOf(previous), New: storedOf(c)}},
	}
}

// logContext is the log_context of this service's entries in the activity log.
const logContext = "CELL_COUNTER"

// replaced is the meta of the log entry about a replaced count.
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

// DocumentsOf converts tallies to their stored form.
func DocumentsOf(tallies []counting.Tally) []Document {
	documents := make([]Document, len(tallies))
	for i, t := range tallies {
		documents[i] = Document{t.CellID, t.Count, t.InTotal}
	}
	return documents
}

// Load returns the counts of a report and their agreement. It returns NotFound if the caller may not see the report.
func (c *Counter) Load(ctx context.Context, a Access, reportID, testID int64) (Comparison, error) {
	report, counts, err := c.store.Counts(ctx, a, reportID, testID)
	if err != nil {
		return Comparison{}, err
	}
	return compare(report, counts), nil
}

func compare(r Report, counts []Count) Comparison {
	result := Comparison{Report: r, Counts: counts}
	if len(counts) == Observers && !counts[0].OtherSample && !counts[1].OtherSample {
		result.Agreements = counting.Compare(counts[0].Tallies, counts[1].Tallies)
	}
	return result
}
