package grpcapi

import (
	"context"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
)

const maxName = 64 // maximum characters of the searched part of a test's name

// ListTests lists tests by name.
func (s *Server) ListTests(
	ctx context.Context, in *cellcounterv1.ListTestsRequest,
) (*cellcounterv1.ListTestsResponse, error) {
	defer s.begin(ctx, opTests, 0, 0)()
	owner, err := reads(authn.FromContext(ctx), 0)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(in.GetName()) > maxName {
		return nil, apperr.InvalidField("name", "name must have at most 64 characters")
	}
	tests, more, err := s.d.Configurer.Tests(ctx, owner, in.GetName())
	if err != nil {
		return nil, err
	}
	out := &cellcounterv1.ListTestsResponse{LimitReached: more}
	for _, t := range tests {
		out.Tests = append(out.Tests, &cellcounterv1.CountedTest{TestId: t.ID, Name: t.Name, Mappings: mappingsInUse(t)})
	}
	return out, nil
}

func mappingsInUse(t configure.Test) string {
	switch {
	case t.Own:
		return "own"
	case t.HasDefaults:
		return "default"
	}
	return "none"
}

// ListParameters lists the parameters of a test's report.
func (s *Server) ListParameters(
	ctx context.Context, in *cellcounterv1.ListParametersRequest,
) (*cellcounterv1.ListParametersResponse, error) {
	defer s.begin(ctx, opParameters, in.GetTestId(), 0)()
	p := authn.FromContext(ctx)
	owner, err := reads(p, 0)
	if err != nil {
		return nil, err
	}
	if in.GetTestId() <= 0 {
		return nil, errNoTest
	}
	name, formats, err := s.d.Configurer.Parameters(ctx, in.GetTestId(), owner)
	if err != nil {
		return nil, err
	}
	out := &cellcounterv1.ListParametersResponse{TestName: name, LabId: owner.LabID(), MayChange: mayChange(p, owner)}
	for _, f := range formats {
		out.Parameters = append(out.Parameters, &cellcounterv1.ReportParameter{
			ReportFormatId: f.ID, ReportFormatIndex: clamp(f.Index), ReportFormatOrder: clamp(f.Order),
			Name: f.Name, Unit: f.Unit,
		})
	}
	return out, nil
}

// ListWaiting lists the reports whose cells wait for a count.
func (s *Server) ListWaiting(
	ctx context.Context, in *cellcounterv1.ListWaitingRequest,
) (*cellcounterv1.ListWaitingResponse, error) {
	defer s.begin(ctx, opWaiting, 0, 0)()
	p := authn.FromContext(ctx)
	if _, err := counts(p); err != nil {
		return nil, err
	}
	sees, page, err := worklist.Asked(p, in.Limit, in.Before)
	if err != nil {
		return nil, err
	}
	list, err := s.d.Counter.Waiting(ctx, sees, page)
	if err != nil {
		return nil, err
	}
	out := &cellcounterv1.ListWaitingResponse{Total: clamp(list.Total), LimitReached: list.More}
	now := s.d.Clock.Now()
	for _, w := range list.Entries {
		one := &cellcounterv1.WaitingReport{
			LabReportId: w.ReportID, TestId: w.TestID, TestName: w.TestName, SampleId: w.SampleID,
			MissingObserver: clamp(w.Missing), CountedByCaller: w.IsCountedBy(p.Actor()),
			Patient: w.Patient.Message(now),
		}
		if w.LabBillID != 0 {
			one.LabBillId = &w.LabBillID
		}
		if w.CountedAt != 0 {
			one.CountedByName, one.CountedAt = &w.CountedBy.Name, &w.CountedAt
		}
		out.Reports = append(out.Reports, one)
	}
	return out, nil
}
