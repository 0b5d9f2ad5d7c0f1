package grpcapi

import (
	"context"
	"math"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

const maxDecimals = 1

// ComputeDifferential computes the differential of a count and stores nothing. The caller needs a laboratory, unless it
// is a global administrator or support.
func (s *Server) ComputeDifferential(
	ctx context.Context, in *cellcounterv1.ComputeDifferentialRequest,
) (*cellcounterv1.ComputeDifferentialResponse, error) {
	defer s.begin(ctx, opDifferential, in.GetTestId(), 0)()
	if _, err := reads(authn.FromContext(ctx), 0); err != nil {
		return nil, err
	}
	if in.GetDecimals() < 0 || in.GetDecimals() > maxDecimals {
		return nil, apperr.InvalidField("decimals", "decimals must be 0 or 1")
	}
	wbc := counting.WBC{Value: math.NaN(), Corrected: in.GetWbcIsCorrected()}
	if in.Wbc != nil {
		wbc.Value = in.GetWbc()
		if !(wbc.Value >= 0 && wbc.Value <= math.MaxFloat32) {
			return nil, apperr.InvalidField("wbc", "wbc must not be negative")
		}
	}
	given := givenOf(in.GetCounts())
	if err := observe.Check(given); err != nil {
		return nil, err
	}
	cells, err := s.d.Configurer.Cells(ctx)
	if err != nil {
		return nil, err
	}
	tallies, notes := observe.Tallies(given, mapping.ByID(cells))
	out := differentialOf(counting.Of(tallies, wbc, int(in.GetDecimals())), int(in.GetDecimals()))
	out.Warnings = warningsOf(notes)
	return out, nil
}

// GetCounts returns the counts of a report.
func (s *Server) GetCounts(
	ctx context.Context,
	in *cellcounterv1.GetCountsRequest,
) (*cellcounterv1.GetCountsResponse, error) {
	defer s.begin(ctx, opCounts, in.GetTestId(), in.GetLabReportId())()
	access, err := counts(authn.FromContext(ctx))
	if err != nil {
		return nil, err
	}
	c, err := s.d.Counter.Load(ctx, access, in.GetLabReportId(), in.GetTestId())
	if err != nil {
		return nil, err
	}
	return compared(c), nil
}

// SaveCount stores the count of one observer.
func (s *Server) SaveCount(
	ctx context.Context,
	in *cellcounterv1.SaveCountRequest,
) (*cellcounterv1.GetCountsResponse, error) {
	defer s.begin(ctx, opSaveCount, in.GetTestId(), in.GetLabReportId())()
	p := authn.FromContext(ctx)
	access, err := counts(p)
	if err != nil {
		return nil, err
	}
	if in.GetTestId() <= 0 {
		return nil, errNoTest
	}
	c, err := s.d.Counter.Save(ctx, access, observe.Saving{
		ReportID: in.GetLabReportId(), TestID: in.GetTestId(), Observer: int(in.GetObserver()),
		Given: givenOf(in.GetCounts()), By: p.Actor(), IfVersion: in.GetIfVersion(), SampleID: in.GetSampleId(),
	})
	if err != nil {
		return nil, err
	}
	return compared(c), nil
}
