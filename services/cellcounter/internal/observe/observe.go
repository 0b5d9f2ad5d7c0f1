package observe

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
)

// Bounds of a count.
const (
	MaxCells = 100
	MaxCount = 100_000 // of one cell
	// Observers is how many counts of one report are kept.
	Observers = 2
)

// ErrNoReport tells that the laboratory has no such report.
var ErrNoReport = apperr.New(apperr.NotFound, "REPORT_NOT_FOUND", "There is no such report in this laboratory")

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

// Access is for which reports somebody counts: all of a laboratory, or those on one doctor's bills.
type Access struct {
	Lab      authn.LabScope
	OwnBills bool
	DoctorID int64 // with OwnBills
}

// Store keeps counts. A report outside the access is ErrNoReport.
type Store interface {
	SaveCount(ctx context.Context, a Access, key Key, c Count) error
	// Counts returns the counts of a report by observer.
	Counts(ctx context.Context, a Access, reportID, testID int64) ([]Count, error)
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

// Save keeps an observer's count in place of an earlier one and returns all counts of the report.
func (c *Counter) Save(ctx context.Context, a Access, key Key, count Count) (Comparison, error) {
	if key.Observer < 1 || key.Observer > Observers {
		return Comparison{}, apperr.InvalidField("observer", fmt.Sprintf("observer must be from 1 to %d", Observers))
	}
	if err := Check(count.Tallies); err != nil {
		return Comparison{}, err
	}
	count.Observer, count.CountedAt = key.Observer, c.clock.Now().Unix()
	if err := c.store.SaveCount(ctx, a, key, count); err != nil {
		return Comparison{}, err
	}
	return c.Load(ctx, a, key.ReportID, key.TestID)
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

// Check refuses counts that nobody counted.
func Check(tallies []counting.Tally) error {
	if len(tallies) == 0 || len(tallies) > MaxCells {
		return apperr.InvalidField("counts", fmt.Sprintf("counts must have from 1 to %d elements", MaxCells))
	}
	var fields []apperr.Field
	seen := map[int64]bool{}
	for i, t := range tallies {
		switch {
		case t.CellID <= 0:
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id", Message: "cell_id must be a positive integer"})
		case seen[t.CellID]:
			fields = append(fields, apperr.Field{Index: i, Name: "cell_id",
				Message: fmt.Sprintf("cell_id %d is given twice; add its counts up", t.CellID)})
		case t.Count < 0 || t.Count > MaxCount:
			fields = append(fields, apperr.Field{Index: i, Name: "count",
				Message: fmt.Sprintf("count must be from 0 to %d", MaxCount)})
		}
		seen[t.CellID] = true
	}
	if len(fields) > 0 {
		return apperr.InvalidFields(fields...)
	}
	return nil
}
