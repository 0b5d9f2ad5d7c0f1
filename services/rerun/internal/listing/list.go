// Package listing owns what GET shows of a report: the values of its reruns beside the present ones, and the
// requests that are still open.
package listing

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports reads what the report itself says.
type Reports interface {
	// Flag is NotFound for a report of another laboratory.
	Flag(ctx context.Context, scope authn.LabScope, reportID int64) (rerun.Flag, error)
	// PresentValues maps an index to the report's value. An index that two tests of a profile share is left out.
	PresentValues(ctx context.Context, scope authn.LabScope, reportID int64) (map[int]string, error)
}

// Documents reads the documents of a report.
type Documents interface {
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	// Values is ordered by rerun number, order and index.
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
}

// UseCase lists reruns.
type UseCase struct {
	reports   Reports
	documents Documents
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
	if l.Values, err = u.values(ctx, scope, reportID, l.Flag); err != nil {
		return l, err
	}
	records, err := u.documents.OfReport(ctx, scope, reportID)
	if err != nil {
		return l, err
	}
	for _, r := range records {
		// A document whose report is not open was abandoned, or its rerun is closed: it awaits nothing.
		if !r.Active || !l.Flag.Open() {
			continue
		}
		if pending := r.Pending(l.Values); len(pending) > 0 {
			l.Open = append(l.Open, OpenRequest{Record: r, Pending: pending})
		}
	}
	if len(l.Values) > 0 {
		l.Present, err = u.reports.PresentValues(ctx, scope, reportID)
	}
	return l, err
}

// values returns the values to show. Those of a closed rerun are archived and about to be deleted, or were never
// committed; what another program stored is shown as long as it is there.
func (u *UseCase) values(
	ctx context.Context, scope authn.LabScope, reportID int64, flag rerun.Flag,
) ([]rerun.Value, error) {
	values, err := u.documents.Values(ctx, scope, reportID)
	if err != nil || flag.Open() {
		return values, err
	}
	return slices.DeleteFunc(values, func(v rerun.Value) bool { return !v.Foreign }), nil
}
