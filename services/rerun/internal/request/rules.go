package request

import (
	"context"
	"slices"

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

// tidy deletes the documents that are in the way: those that a closed rerun archived and did not get to delete yet,
// and those without a commit marker: this transaction holds the row that theirs held, so theirs ended without a
// commit. It returns the documents that count.
func (u *UseCase) tidy(ctx context.Context, scope authn.LabScope, l Locked) ([]rerun.Record, []rerun.Value, error) {
	records, values, err := u.unarchived(ctx, scope, l)
	if err != nil || len(records) == 0 {
		return nil, values, err
	}
	ledger, err := l.Ledger(ctx)
	if err != nil {
		return nil, nil, err
	}
	kept := records[:0]
	for _, r := range records {
		// What an instrument did on its own is kept for the request that archives it: it holds values. What another
		// program wrote has no marker and is not ours to delete.
		if ledger.Committed(r.ID) || r.Type == rerun.ByAnalyser || r.Foreign {
			kept = append(kept, r)
			continue
		}
		if err := u.d.Records.Delete(ctx, scope, r.ID); err != nil {
			return nil, nil, err
		}
		u.d.Log.Warn("abandoned rerun record deleted", "rerun_id", r.ID, "lab_report_id", r.ReportID)
	}
	return kept, values, u.release(ctx, scope, l.Report().Flag, kept)
}

// unarchived returns the report's documents after those that the activity log holds were deleted.
func (u *UseCase) unarchived(
	ctx context.Context, scope authn.LabScope, l Locked,
) ([]rerun.Record, []rerun.Value, error) {
	records, err := u.d.Records.OfReport(ctx, scope, l.Report().ID)
	if err != nil {
		return nil, nil, err
	}
	values, err := u.d.Records.Values(ctx, scope, l.Report().ID)
	if err != nil || len(records)+len(values) == 0 || l.Report().Flag.Open() {
		return records, values, err
	}
	archived, err := l.Archived(ctx)
	if err != nil {
		return nil, nil, err
	}
	var oldRecords, oldValues []string
	for _, r := range records {
		if archived[r.ID] {
			oldRecords = append(oldRecords, r.ID)
		}
	}
	for _, v := range values {
		if archived[v.ID] {
			oldValues = append(oldValues, v.ID)
		}
	}
	if len(oldValues) > 0 {
		if err := u.d.Records.DeleteValues(ctx, scope, oldValues); err != nil {
			return nil, nil, err
		}
	}
	if len(oldRecords) > 0 {
		if err := u.d.Records.Delete(ctx, scope, oldRecords...); err != nil {
			return nil, nil, err
		}
	}
	records = slices.DeleteFunc(records, func(r rerun.Record) bool { return archived[r.ID] })
	return records, slices.DeleteFunc(values, func(v rerun.Value) bool { return archived[v.ID] }), nil
}

// release frees the slots of records that outlived their rerun: the flag is 0, so it was closed. They stay for
// the request that archives them.
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
