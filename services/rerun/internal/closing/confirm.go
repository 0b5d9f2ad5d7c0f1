package closing

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Confirmation is the values that someone decided on.
type Confirmation struct {
	ReportID int64
	Rows     []Row // not empty; no test and index twice
	Actor    authn.Actor
}

// Row is one decided value. Order is nil and Result.ParameterName empty when the format's are meant.
type Row struct {
	rerun.Result
	Order *int
}

// Confirm replaces the matching values of the report and closes the rerun. A row with a test replaces the value
// of that test and index, a row without one every value of the index. Errors: NotFound, Conflict when no rerun is
// open, Invalid for an index that the report does not have, Unavailable.
func (u *UseCase) Confirm(ctx context.Context, scope authn.LabScope, c Confirmation) error {
	err := u.end(ctx, scope, c.ReportID, func(e *ending, s *rerun.Snapshot) error {
		if err := e.replace(ctx, c, s); err != nil {
			return err
		}
		logID, err := e.locked.Log(ctx, activitylog.Entry{
			Category: activitylog.RerunValuesConfirmed, Text: "Sample rerun values confirmed", Actor: c.Actor,
			At: u.d.Clock.Now(), Meta: s,
		})
		if err != nil {
			return err
		}
		order, err := u.d.Messages.Evaluation(scope, c.ReportID, logID)
		if err != nil {
			return err
		}
		return e.locked.Send(ctx, order)
	})
	if err != nil {
		return err
	}
	u.d.WakeRelay()
	u.d.Counters.Closed(true)
	return nil
}

// replace writes the confirmed values, adds old and new ones to the snapshot, and clears the signature of a
// report that says something else now.
func (e *ending) replace(ctx context.Context, c Confirmation, s *rerun.Snapshot) error {
	parameters, err := e.locked.Parameters(ctx)
	if err != nil {
		return err
	}
	present, err := e.locked.Results(ctx)
	if err != nil {
		return err
	}
	confirmed, err := e.complete(c.Rows, parameters, present)
	if err != nil {
		return err
	}
	gone := matching(present, confirmed)
	if err := e.locked.Replace(ctx, gone, confirmed); err != nil {
		return err
	}
	s.Old.Values, s.New.Values = rerun.ArchiveResults(gone), rerun.ArchiveResults(confirmed)
	signed := e.report.Signed
	s.Old.Signed, s.New.Signed = &signed, &signed
	if !signed || !differ(gone, confirmed) {
		return nil
	}
	cleared := false
	s.New.Signed = &cleared
	return e.locked.Unsign(ctx)
}

// complete fills in what a row leaves out, from the row's own test, and refuses an index that nothing in the report
// knows.
func (e *ending) complete(
	rows []Row, parameters []rerun.Parameter, present []rerun.Result,
) ([]rerun.Result, error) {
	confirmed := make([]rerun.Result, 0, len(rows))
	for i, row := range rows {
		parameter, found := rerun.ParameterOf(parameters, row.ProfileTestID, row.Index)
		known := found || slices.ContainsFunc(present, func(r rerun.Result) bool { return r.Index == row.Index }) ||
			slices.ContainsFunc(e.values, func(v rerun.Value) bool { return v.Index == row.Index })
		if !known {
			return nil, apperr.InvalidFields(
				apperr.Field{Index: i, Name: "index", Message: "index is not a parameter of this report"})
		}
		result := row.Result
		if found {
			result.Order = parameter.Order
			if result.ParameterName == "" {
				result.ParameterName = parameter.Name
			}
		}
		if row.Order != nil {
			result.Order = *row.Order
		}
		confirmed = append(confirmed, result)
	}
	return confirmed, nil
}

// replaces reports whether the confirmed row takes the place of a present one.
func replaces(confirmed, present rerun.Result) bool {
	return confirmed.Index == present.Index &&
		(confirmed.ProfileTestID == 0 || confirmed.ProfileTestID == present.ProfileTestID)
}

func matching(present, confirmed []rerun.Result) []rerun.Result {
	var gone []rerun.Result
	for _, p := range present {
		if slices.ContainsFunc(confirmed, func(c rerun.Result) bool { return replaces(c, p) }) {
			gone = append(gone, p)
		}
	}
	return gone
}

// differ reports whether the report says something else when gone gives way to confirmed.
func differ(gone, confirmed []rerun.Result) bool {
	if len(gone) != len(confirmed) {
		return true
	}
	for _, c := range confirmed {
		i := slices.IndexFunc(gone, func(g rerun.Result) bool { return replaces(c, g) })
		if i < 0 || c.Differs(gone[i]) {
			return true
		}
	}
	return false
}
