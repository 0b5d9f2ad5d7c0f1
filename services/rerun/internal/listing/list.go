// Package listing reads a report's rerun values, each with the present value of the report, and the open requests.
package listing

import (
	"context"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/coalesce"
	"github.com/labplatform/labplatform/pkg/distinct"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Reports reads reports without a lock.
type Reports interface {
	// Read returns the facts about a report; NotFound for a report of another laboratory.
	Read(ctx context.Context, scope authn.LabScope, reportID int64, wants rerun.Wants) (rerun.Facts, error)
}

// Documents reads the documents of reports.
type Documents interface {
	// OfReports returns the records of the reports, ordered by rerun number.
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	// ValuesOfReports returns the values of the reports, ordered by rerun number, order and index.
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
}

// UseCase lists reruns. Its methods may be called from several goroutines.
type UseCase struct {
	reports   Reports
	documents Documents
	// records and values coalesce reads: small document stores read a whole collection for every query. All readers of a
	// laboratory share one query; readers that come while it runs share the next one.
	records coalesce.Reads[int64, int64, map[int64][]rerun.Record]
	values  coalesce.Reads[int64, int64, map[int64][]rerun.Value]
}

// New returns a use case that reads from both stores.
func New(reports Reports, documents Documents) *UseCase {
	return &UseCase{reports: reports, documents: documents}
}

// Listing is the result of UseCase.List.
type Listing struct {
	Flag   rerun.Flag
	AsOf   time.Time // when the values last changed
	Values []Value
	Open   []OpenRequest
}

// Value is a received value with the report's own value.
type Value struct {
	rerun.Value

	NamingTest *int64 // test id to use in a confirm; nil if several tests have the index and the value names none
	TestName   string
	Original   *string // the report's value of the same parameter; nil if there is none
}

// OpenRequest is an open request with the indices for which it waits.
type OpenRequest struct {
	rerun.Record

	Pending []int
}

// List returns the reruns of a report. It returns NotFound for a report of another laboratory. AsOf is read before the
// values, so that it is never later than they are.
func (u *UseCase) List(ctx context.Context, scope authn.LabScope, reportID int64) (Listing, error) {
	facts, err := u.reports.Read(ctx, scope, reportID, rerun.Wants{})
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Flag: facts.Report.Flag}
	values, err := u.valuesOf(ctx, scope, reportID, l.Flag)
	if err != nil {
		return l, err
	}
	if l.AsOf = facts.ChangedAt(values); l.AsOf.IsZero() {
		l.AsOf = time.UnixMilli(0) // makes the page older than every value
	}
	if l.Open, err = u.openOf(ctx, scope, reportID, l.Flag, values); err != nil || len(values) == 0 {
		return l, err
	}
	facts, err = u.reports.Read(ctx, scope, reportID, rerun.Wants{Tests: true, Results: true})
	for _, v := range values {
		l.Values = append(l.Values, valueOf(facts, v))
	}
	return l, err
}

func valueOf(f rerun.Facts, v rerun.Value) Value {
	out := Value{Value: v}
	test, ok := f.Tests.OfValue(v)
	if !ok {
		return out
	}
	naming := f.Tests.Naming(test, v.Index)
	out.NamingTest, out.TestName = &naming, f.Tests.Name(test)
	for _, r := range f.Results {
		if of, ok := f.Tests.OfResult(r); ok && of == test && r.Index == v.Index {
			out.Original = &r.Value
		}
	}
	return out
}

// openOf returns the requests that are still waiting. If no rerun is open there are none, and the documents are not
// read, because they were abandoned or belong to a closed rerun.
func (u *UseCase) openOf(
	ctx context.Context, scope authn.LabScope, reportID int64, flag rerun.Flag, values []rerun.Value,
) (open []OpenRequest, err error) {
	if !flag.Open() {
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
		if pending := r.Pending(values); len(pending) > 0 {
			open = append(open, OpenRequest{Record: r, Pending: pending})
		}
	}
	return open, err
}

// valuesOf returns the values to show. It omits values of a closed rerun, which are archived and about to be deleted,
// or were never committed. Values of other programs are shown as long as they exist.
func (u *UseCase) valuesOf(
	ctx context.Context, scope authn.LabScope, reportID int64, flag rerun.Flag,
) ([]rerun.Value, error) {
	read := func(ctx context.Context, ids []int64) (map[int64][]rerun.Value, error) {
		values, err := u.documents.ValuesOfReports(ctx, scope, distinct.Of(ids))
		return byReport(values, func(v rerun.Value) int64 { return v.ReportID }), err
	}
	found, err := u.values.Do(ctx, scope.LabID(), reportID, read)
	values := slices.Clone(found[reportID]) // a copy, because other readers share the values
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
