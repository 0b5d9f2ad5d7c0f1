package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// fill adds the tests of profiles and the values to the reports, and reads the formats of all their tests.
func (s *Store) fill(ctx context.Context, q querier, scope authn.LabScope, reports []callout.Report, rows []reportRow, criticalOnly bool) (
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
	}
	slices.Sort(tests)
	var w wanted
	if criticalOnly {
		w = criticalOf(reports)
	}
	return s.formats(ctx, q, slices.Compact(tests), w)
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
	return each(ctx, q, "read profiles", "SELECT profileParentId, testId_id FROM billingInfo WHERE labId_id = ?"+
		" AND profileParentId IN ("+in+") ORDER BY id", append([]any{scope.LabID()}, args...), func(r *sql.Rows) error {
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
	err := each(ctx, q, "read values", "SELECT v.labReportId_id, v.profileTestId, v.`index`, v.`order`, v.parameter_name,"+
		" IFNULL(v.value, '') FROM reportValues v JOIN labReportRelation r ON r.id = v.labReportId_id WHERE r.labId_id = ?"+
		" AND v.labReportId_id IN ("+in+")",
		append([]any{scope.LabID()}, args...), func(r *sql.Rows) error {
			var report int64
			var v callout.Reading
			if err := r.Scan(&report, &v.ProfileTestID, &v.Index, &v.Order, &v.Name, &v.Value); err != nil {
				return err
			}
			c := &reports[at[report]].Chart
			c.Readings = append(c.Readings, v)
			return nil
		})
	for i := range reports { // here, not in the statement: the server would sort long texts
		slices.SortFunc(reports[i].Chart.Readings, func(a, b callout.Reading) int {
			return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Index, b.Index), cmp.Compare(a.ProfileTestID, b.ProfileTestID))
		})
	}
	return err
}
