package mysql

import (
	"context"
	"database/sql"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/reportformat"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// fill adds the tests of profiles and the values to the reports, and reads the formats of all their tests.
func (s *Store) fill(ctx context.Context, q querier, scope authn.LabScope, reports []callout.Report, rows []reportRow) (
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
	return s.formats(ctx, q, slices.Compact(tests))
}

func (s *Store) children(ctx context.Context, q querier, scope authn.LabScope, reports []callout.Report, rows []reportRow) error {
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
	return each(ctx, q, "read values", "SELECT v.labReportId_id, v.profileTestId, v.`index`, v.`order`, v.parameter_name,"+
		" IFNULL(v.value, '') FROM reportValues v JOIN labReportRelation r ON r.id = v.labReportId_id WHERE r.labId_id = ?"+
		" AND v.labReportId_id IN ("+in+") ORDER BY v.labReportId_id, v.`order`, v.`index`, v.id",
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
}

// formats are the platform's and no laboratory's data: the tests come from reports of the laboratory.
func (s *Store) formats(ctx context.Context, q querier, tests []int64) (callout.Formats, error) {
	formats := callout.Formats{}
	in, args := list(tests)
	err := each(ctx, q, "read formats", "SELECT f.id, f.testId_id, f.`index`, f.`order`, f.parameterName, f.unit, f.valueType, "+
		reportformat.RangeColumns+" FROM ReportFormat f LEFT JOIN ReportFormatRange g ON g.reportFormatId_id = f.id"+
		" WHERE f.isDisabled = 0 AND f.testId_id IN ("+in+") ORDER BY f.id, g.id", args, func(r *sql.Rows) error {
		var f callout.Format
		var valueType string
		var g reportformat.Range
		err := r.Scan(append([]any{&f.ID, &f.TestID, &f.Index, &f.Order, &f.Name, &f.Unit, &valueType}, g.Targets()...)...)
		if err != nil {
			return err
		}
		of := formats[f.TestID]
		if len(of) == 0 || of[len(of)-1].ID != f.ID {
			of = append(of, f)
		}
		last := &of[len(of)-1]
		if band, ok := g.Band(valueType); ok {
			last.Bands, last.Printed = append(last.Bands, band), append(last.Printed, printed(&g, band.Display, band.Reference.NormalTexts,
				band.Reference.CriticalTexts))
		}
		formats[f.TestID] = of
		return nil
	})
	return formats, err
}

func printed(g *reportformat.Range, display string, normal, critical []string) callout.Printed {
	l := callout.Limits{Display: display, NormalTexts: normal, CriticalTexts: critical}
	l.Low, l.High, l.CriticalLow, l.CriticalHigh = g.Limits()
	return l.Print()
}
