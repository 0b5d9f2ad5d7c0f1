// Package listing owns what GET shows of a report: the values of its reruns beside the present ones, and the
// requests that are still open.
package listing

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/coalesce"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports reads what the report itself says.
type Reports interface {
	// Flag is NotFound for a report of another laboratory.
	Flag(ctx context.Context, scope authn.LabScope, reportID int64) (rerun.Flag, error)
	// PresentValues maps an index to the report's value. An index that two tests of a profile share is left out.
	PresentValues(ctx context.Context, scope authn.LabScope, reportID int64) (map[int]string, error)
}

// Documents reads the documents of reports.
type Documents interface {
	// OfReports is ordered by rerun number.
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	// ValuesOfReports is ordered by rerun number, order and index.
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
}

// UseCase lists reruns. Its methods may be called from several goroutines.
type UseCase struct {
	reports   Reports
	documents Documents
	// Small document stores read a whole collection for every question. All readers of a laboratory share one: who comes
	// while it is answered shares the next.
	records coalesce.Reads[int64, int64, map[int64][]rerun.Record]
	values  coalesce.Reads[int64, int64, map[int64][]rerun.Value]
}

// New returns the use case.
func New(reports Reports, documents Documents) *UseCase {
	return &UseCase{reports: reports, documents: documents}
}

// Listing is what is shown.
type Listing struct {
	Flag    rerun.Flag
	Values  []rerun.Value
	Present map[int]string
	Open    []OpenRequest
}

// OpenRequest is an active record and the indices that it still waits for.
type OpenRequest struct {
	rerun.Record
	Pending []int
}

// List returns the report's reruns. Reports of another laboratory are NotFound.
func (u *UseCase) List(ctx context.Context, scope authn.LabScope, reportID int64) (Listing, error) {
	var l Listing
	var err error
	if l.Flag, err = u.reports.Flag(ctx, scope, reportID); err != nil {
		return l, err
	}
	if l.Values, err = u.valuesOf(ctx, scope, reportID, l.Flag); err != nil {
		return l, err
	}
	if l.Open, err = u.openOf(ctx, scope, reportID, l); err != nil {
		return l, err
	}
	if len(l.Values) > 0 {
		l.Present, err = u.reports.PresentValues(ctx, scope, reportID)
	}
	return l, err
}

// openOf returns the requests that still wait. A document whose report is not open was abandoned, or its rerun is
// closed: it awaits nothing, and is not asked for.
func (u *UseCase) openOf(
	ctx context.Context, scope authn.LabScope, reportID int64, l Listing,
) (open []OpenRequest, err error) {
	if !l.Flag.Open() {
		return nil, nil
	}
	read := func(ctx context.Context, ids []int64) (map[int64][]rerun.Record, error) {
		records, err := u.documents.OfReports(ctx, scope, distinct.Of(ids))
		return byReport(records, func(r rerun.Record) int64 { return r.ReportID }), err
	}
	found, err := u.records.Do(ctx, scope.LabID(), reportID, read)
	for _, r := range found[reportID] {
		if !r.Active {
			continue
		}
		if pending := r.Pending(l.Values); len(pending) > 0 {
			open = append(open, OpenRequest{Record: r, Pending: pending})
		}
	}
	return open, err
}

// valuesOf returns the values to show. Those of a closed rerun are archived and about to be deleted, or were never
// committed; what another program stored is shown as long as it is there.
func (u *UseCase) valuesOf(
	ctx context.Context, scope authn.LabScope, reportID int64, flag rerun.Flag,
) ([]rerun.Value, error) {
	read := func(ctx context.Context, ids []int64) (map[int64][]rerun.Value, error) {
		values, err := u.documents.ValuesOfReports(ctx, scope, distinct.Of(ids))
		return byReport(values, func(v rerun.Value) int64 { return v.ReportID }), err
	}
	found, err := u.values.Do(ctx, scope.LabID(), reportID, read)
	values := slices.Clone(found[reportID]) // others may read it, too
	if err != nil || flag.Open() {
		return values, err
	}
	return slices.DeleteFunc(values, func(v rerun.Value) bool { return !v.Foreign }), nil
}

func byReport[T any](documents []T, reportID func(T) int64) map[int64][]T {
	found := map[int64][]T{}
	for _, d := range documents {
		found[reportID(d)] = append(found[reportID(d)], d)
	}
	return found
}
