package grpcapi

import (
	"context"

	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/history"
)

// ListCriticalRecords lists the critical reports of a bill.
func (s *Server) ListCriticalRecords(
	ctx context.Context, in *calloutv1.ListCriticalRecordsRequest,
) (*calloutv1.ListCriticalRecordsResponse, error) {
	defer s.u.Durations.Measure(ctx, opRecords)()
	_, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkBill(in.GetBillId()); err != nil {
		return nil, err
	}
	list, err := s.u.Records.List(ctx, scope, in.GetBillId(), sees)
	if err != nil {
		return nil, err
	}
	return recordsOf(list), nil
}

// ListCalloutLogs lists the history of reports.
func (s *Server) ListCalloutLogs(
	ctx context.Context, in *calloutv1.ListCalloutLogsRequest,
) (*calloutv1.ListCalloutLogsResponse, error) {
	defer s.u.Durations.Measure(ctx, opLogs)()
	_, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := history.ParseIDs("report_ids", in.GetReportIds())
	if err != nil {
		return nil, err
	}
	entries, err := s.u.History.Logs(ctx, scope, sees, ids)
	if err != nil {
		return nil, err
	}
	return logsOf(entries), nil
}

// ListCallouts returns the latest callout of each report.
func (s *Server) ListCallouts(
	ctx context.Context, in *calloutv1.ListCalloutsRequest,
) (*calloutv1.ListCalloutsResponse, error) {
	defer s.u.Durations.Measure(ctx, opAudit)()
	_, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	latest, err := s.u.History.Latest(ctx, scope, sees, in.GetLabReportIds())
	if err != nil {
		return nil, err
	}
	return calloutsOf(latest), nil
}

// ListOpenCallouts lists the waiting reports of the laboratory.
func (s *Server) ListOpenCallouts(
	ctx context.Context, _ *calloutv1.ListOpenCalloutsRequest,
) (*calloutv1.ListOpenCalloutsResponse, error) {
	defer s.u.Durations.Measure(ctx, opOpen)()
	p, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	open, err := s.u.Worklist.Open(ctx, scope, sees)
	if err != nil {
		return nil, err
	}
	return openOf(open, p.Actor()), nil
}

// GetCalloutSummary returns statistics about the time to callout.
func (s *Server) GetCalloutSummary(
	ctx context.Context, in *calloutv1.GetCalloutSummaryRequest,
) (*calloutv1.GetCalloutSummaryResponse, error) {
	defer s.u.Durations.Measure(ctx, opSummary)()
	_, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	sum, err := s.u.Worklist.Summary(ctx, scope, sees, in.GetFrom(), in.GetTo())
	if err != nil {
		return nil, err
	}
	return summaryOf(sum), nil
}
