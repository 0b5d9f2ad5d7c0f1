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

// Access is for which reports someone counts: all of a laboratory, or those on one doctor's bills.
type Access struct {
	Lab      authn.LabScope
	OwnBills bool
	DoctorID int64 // with OwnBills
}

// Store keeps counts. A report outside the access is ErrNoReport.
type Store interface {
	// Lock runs work while no one else changes the report or its counts, and commits. Work may run again.
	Lock(ctx context.Context, a Access, reportID int64, work func(Locked) error) error
	// Counts returns the counts of a report by observer.
	Counts(ctx context.Context, a Access, reportID, testID int64) ([]Count, error)
}

// Locked is a report whose row is held by the running transaction.
type Locked interface {
	Report() Report
	Counts(ctx context.Context, testID int64) ([]Count, error)
	// KnownCells returns those of the ids that are cells.
	KnownCells(ctx context.Context, ids []int64) (map[int64]bool, error)
	// Put stores the count in place of an earlier one.
	Put(ctx context.Context, testID int64, c Count) error
	// Log appends to the activity log.
	Log(ctx context.Context, e activitylog.Entry) error
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
	err := c.store.Lock(ctx, a, key.ReportID, func(l Locked) error { return save(ctx, l, key.TestID, count, now) })
	if err != nil {
		return Comparison{}, err
	}
	return c.Load(ctx, a, key.ReportID, key.TestID)
}

func save(ctx context.Context, l Locked, testID int64, count Count, now time.Time) error {
	if err := l.Report().admits(testID); err != nil {
		return err
	}
	known, err := l.KnownCells(ctx, cellIDs(count.Tallies))
	if err != nil {
		return err
	}
	if err := checkCells(count.Tallies, known); err != nil {
		return err
	}
	present, err := l.Counts(ctx, testID)
	if err != nil {
		return err
	}
	previous, err := count.previous(present)
	if err != nil {
		return err
	}
	if previous != nil && slices.Equal(previous.Tallies, count.Tallies) && isSame(previous.CountedBy, count.CountedBy) {
		return nil // the request again
	}
	if err := l.Put(ctx, testID, count); err != nil || previous == nil {
		return err
	}
	return l.Log(ctx, activitylog.Entry{
		Category: activitylog.CellCountReplaced, Actor: count.CountedBy, At: now,
		Text: fmt.Sprintf("Cell count of observer %d replaced", count.Observer),
		Meta: replaced{testID, count.Observer, activitylog.Change[stored]{Old: storedOf(*previous), New: storedOf(count)}},
	})
}

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
	result := Comparison{Counts: counts}
	if len(counts) == Observers {
		result.Agreements = counting.Compare(counts[0].Tallies, counts[1].Tallies)
	}
	return result, nil
}
