package request

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// names checks that every requested index is a parameter of the report, and returns the names to store: the
// caller's, or those of the formats.
func (u *UseCase) names(ctx context.Context, c Command, l Locked) ([]string, error) {
	parameters, err := l.Parameters(ctx)
	if err != nil {
		return nil, err
	}
	byIndex := make(map[int]string, len(parameters))
	for _, p := range parameters {
		if _, ok := byIndex[p.Index]; !ok {
			byIndex[p.Index] = p.Name
		}
	}
	names := make([]string, 0, len(c.Requested))
	for _, index := range c.Requested {
		name, ok := byIndex[index]
		if !ok {
			return nil, apperr.InvalidField("requested_parameters",
				"requested_parameters names an index that is not a parameter of this report")
		}
		names = append(names, name)
	}
	if len(c.ParameterNames) > 0 {
		return c.ParameterNames, nil
	}
	return names, nil
}

// tidy deletes documents without a commit marker: this transaction holds the row that theirs held, so theirs
// ended without a commit. It returns the records that count.
func (u *UseCase) tidy(ctx context.Context, scope authn.LabScope, l Locked) ([]rerun.Record, error) {
	all, err := u.d.Records.OfReport(ctx, scope, l.Report().ID)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	ledger, err := l.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, r := range all {
		// What an instrument did on its own is kept for whoever archives it: it holds values. What another
		// program wrote has no marker and is not ours to delete.
		if ledger.Committed(r.ID) || r.Type == rerun.ByAnalyser || r.Foreign {
			kept = append(kept, r)
			continue
		}
		if err := u.d.Records.Delete(ctx, scope, r.ID); err != nil {
			return nil, err
		}
		u.d.Log.Warn("abandoned rerun record deleted", "rerun_id", r.ID, "lab_report_id", r.ReportID)
	}
	return kept, u.release(ctx, scope, l.Report().Flag, kept)
}

// release frees the slots of records that outlived their rerun: the flag is 0, so it was closed. They stay for
// whoever archives them.
func (u *UseCase) release(ctx context.Context, scope authn.LabScope, flag rerun.Flag, records []rerun.Record) error {
	if flag.Open() {
		return nil
	}
	for _, r := range records {
		if err := u.d.Records.Retire(ctx, scope, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// supersede closes the request that still awaits values: at most one is open.
func (u *UseCase) supersede(ctx context.Context, scope authn.LabScope, earlier []rerun.Record) error {
	for _, r := range earlier {
		if !r.Active {
			continue
		}
		if err := u.d.Records.Close(ctx, scope, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// number returns the record's number: above every existing one, so that values of two repetitions never mix.
// A second automatic request of the same rerun is refused first. The documented body of an automatic request
// always says 1, also after an instrument repeated on its own: there the number is a floor.
func number(c Command, flag rerun.Flag, earlier []rerun.Record, values []rerun.Value) (int, error) {
	for _, r := range earlier {
		if flag.Open() && c.Type == rerun.Auto && r.Type == rerun.Auto {
			return 0, rerun.ErrAutoExists
		}
	}
	highest := rerun.HighestNumber(earlier)
	for _, v := range values { // also of a closed rerun that was not cleared away yet
		highest = max(highest, v.Number)
	}
	if c.Number == 0 || c.Type == rerun.Auto {
		return max(c.Number, highest+1), nil
	}
	if c.Number <= highest {
		return 0, apperr.Newf(apperr.Conflict, "RERUN_NUMBER_IN_USE",
			"rerun_number must be greater than %d, the highest of this report", highest)
	}
	return c.Number, nil
}
