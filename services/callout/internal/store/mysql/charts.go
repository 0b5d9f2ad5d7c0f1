package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// fill adds the profile tests and the values to the reports. It returns the formats of all their tests, and of the
// tests that values and unconfirmed rerun values name; with criticalOnly, only formats with critical limits, which may
// be a few seconds old.
func (s *Store) fill(
	ctx context.Context,
	q querier,
	scope authn.LabScope,
	reports []callout.Report,
	rows []reportRow,
	criticalOnly bool,
) (
	callout.Formats, error,
) {
	if err := s.children(ctx, q, scope, reports, rows); err != nil {
		return nil, err
	}
	if err := s.readings(ctx, q, scope, reports); err != nil {
		return nil, err
	}
	var tests []int64
	for i := range reports {
		tests = append(tests, reports[i].Chart.Tests...)
		for _, list := range [][]callout.Reading{reports[i].Chart.Readings, rows[i].rerun()} {
			for _, v := range list { // may name a test that is not billed
				if v.ProfileTestID != 0 {
					tests = append(tests, v.ProfileTestID)
				}
			}
		}
	}
	slices.Sort(tests)
	tests = slices.Compact(tests)
	if criticalOnly {
		return s.recentFormats(ctx, q, tests)
	}
	return s.formats(ctx, q, tests, "")
}

func (s *Store) children(
	ctx context.Context, q querier, scope authn.LabScope, reports []callout.Report, rows []reportRow,
) error {
	parents, at := []int64{}, map[int64][]int{}
	for i := range rows {
		if id := rows[i].billingInfoID; id.Valid {
			parents, at[id.Int64] = append(parents, id.Int64), append(at[id.Int64], i)
		}
	}
	in, args := list(parents)
	// A child may be a profile itself.
	query := "WITH RECURSIVE billed (report, id, testId) AS (SELECT profileParentId, id, testId_id FROM billingInfo" +
		" WHERE labId_id = ? AND profileParentId IN (" + in + ") UNION SELECT p.report, b.id, b.testId_id FROM billed p" +
		" JOIN billingInfo b ON b.profileParentId = p.id AND b.labId_id = ?) SELECT report, testId FROM billed ORDER BY id"
	args = append(append([]any{scope.LabID()}, args...), scope.LabID())
	return each(ctx, q, "read profiles", query, args, func(r *sql.Rows) error {
		var parent, test int64
		if err := r.Scan(&parent, &test); err != nil {
			return err
		}
		for _, i := range at[parent] {
			reports[i].Chart.Tests = append(reports[i].Chart.Tests, test)
		}
		return nil
	})
}

func (s *Store) readings(ctx context.Context, q querier, scope authn.LabScope, reports []callout.Report) error {
	ids, at := make([]int64, len(reports)), make(map[int64]int, len(reports))
	for i := range reports {
		ids[i], at[reports[i].ID] = reports[i].ID, i
	}
	in, args := list(ids)
	var row readingRow
	targets := row.targets()
	names := map[string]string{} // reports of the same test share one string
	err := each(ctx, q, "read values", "SELECT v.labReportId_id, v.profileTestId, v.`index`, v.`order`, v.parameter_name,"+
		" IFNULL(v.value, ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v.updated_at) FROM reportValues v JOIN labReportRelation r ON r.id = v.labReportId_id WHERE r.labId_id = ?"+
		" AND v.labReportId_id IN ("+in+")",
		append([]any{scope.LabID()}, args...), func(r *sql.Rows) error {
			if err := r.Scan(targets...); err != nil {
				return err
			}
			report, v, err := row.read(names)
			if err == nil {
				c := &reports[at[report]].Chart
				c.Readings = append(c.Readings, v)
			}
			return err
		})
	for i := range reports { // sorted here, because the database would sort rows with long texts
		slices.SortFunc(reports[i].Chart.Readings, func(a, b callout.Reading) int {
			return cmp.Or(
				cmp.Compare(a.Order, b.Order),
				cmp.Compare(a.Index, b.Index),
				cmp.Compare(a.ProfileTestID, b.ProfileTestID),
			)
		})
	}
	return err
}

// readingRow is a value that points into the driver's buffer, so that only the texts that are kept are copied: a bill
// has hundreds of values.
type readingRow struct{ report, profileTest, index, order, name, value, at sql.RawBytes }

func (r *readingRow) targets() []any {
	return []any{&r.report, &r.profileTest, &r.index, &r.order, &r.name, &r.value, &r.at}
}

func (r *readingRow) read(names map[string]string) (report int64, v callout.Reading, err error) {
	report, errReport := integer(r.report)
	profileTest, errTest := integer(r.profileTest)
	index, errIndex := integer(r.index)
	order, errOrder := integer(r.order)
	at, errAt := integer(r.at)
	name, ok := names[string(r.name)]
	if !ok {
		name = string(r.name)
		names[name] = name
	}
	v = callout.Reading{
		ProfileTestID: profileTest,
		Index:         int(index),
		Order:         int(order),
		Name:          name,
		Value:         string(r.value),
		At:            time.UnixMicro(at).UTC(),
	}
	return report, v, errors.Join(errReport, errTest, errIndex, errOrder, errAt)
}
