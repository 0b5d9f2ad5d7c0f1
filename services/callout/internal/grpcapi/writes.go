package grpcapi

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

// SaveCallout records a callout or an attempt.
func (s *Server) SaveCallout(
	ctx context.Context, in *calloutv1.SaveCalloutRequest,
) (*calloutv1.SaveCalloutResponse, error) {
	defer s.u.Durations.Measure(ctx, opSave)()
	p, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkBill(in.GetBillId()); err != nil {
		return nil, err
	}
	status, err := s.u.Save.Save(ctx, scope, performer(p, sees), save.Callout{
		BillID:     in.GetBillId(),
		Draft:      in.GetIsDraft(),
		ReportIDs:  in.GetLabReportIds(),
		Recipients: in.GetRecipients(),
		Methods:    in.GetCommunicationMethods(),
		Comment:    in.GetCriticalCalloutComment(),
		ReadBack:   in.ReadBack, // a pointer, because absent and false differ
		Person:     in.GetNotifiedPerson(),
		NotifiedAt: in.GetNotifiedAt(),
		Outcome:    callout.Outcome(in.GetOutcome()),
		Force:      in.GetForce(),
		Told:       toldOf(in.GetToldValues()),
	})
	if err != nil {
		return nil, err
	}
	return &calloutv1.SaveCalloutResponse{
		Message: savedMessage(in.GetIsDraft(), status), Status: status.String(), Reports: in.GetLabReportIds(),
	}, nil
}

// ClaimCallout records that the user is calling about a waiting report.
func (s *Server) ClaimCallout(
	ctx context.Context, in *calloutv1.ClaimCalloutRequest,
) (*calloutv1.CalloutClaim, error) {
	defer s.u.Durations.Measure(ctx, opClaim)()
	p, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkReport(in.GetLabReportId()); err != nil {
		return nil, err
	}
	var insteadOf time.Time
	if in.GetInsteadOf() != "" {
		if insteadOf, err = time.Parse(time.RFC3339Nano, in.GetInsteadOf()); err != nil {
			return nil, apperr.InvalidField("instead_of", "instead_of must be the since of the claim that is taken over")
		}
	}
	c, err := s.u.Claim.Claim(ctx, scope, p.Actor(), sees, in.GetLabReportId(), insteadOf)
	if err != nil {
		return nil, err
	}
	return claimOf(c, p.Actor()), nil
}

// ReleaseCallout ends the caller's claim of a report.
func (s *Server) ReleaseCallout(
	ctx context.Context, in *calloutv1.ReleaseCalloutRequest,
) (*calloutv1.ReleaseCalloutResponse, error) {
	defer s.u.Durations.Measure(ctx, opClaim)()
	p, scope, sees, err := person(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkReport(in.GetLabReportId()); err != nil {
		return nil, err
	}
	return &calloutv1.ReleaseCalloutResponse{}, s.u.Claim.Release(ctx, scope, p.Actor(), sees, in.GetLabReportId())
}

func checkReport(id int64) error {
	if id <= 0 {
		return apperr.InvalidField("lab_report_id", "lab_report_id must be a positive integer")
	}
	return nil
}

func toldOf(values []*calloutv1.ToldValue) []save.ToldValue {
	told := make([]save.ToldValue, len(values))
	for i, v := range values {
		told[i] = save.ToldValue{ReportID: v.GetLabReportId(), FormatID: v.GetReportFormatId(), RawValue: v.GetRawValue()}
	}
	return told
}

func savedMessage(draft bool, status callout.Status) string {
	switch {
	case draft:
		return "Critical callout draft saved successfully"
	case status == callout.Attempted:
		return "Critical callout saved as an attempt: no one read the result back, so it waits on;" +
			" call again and send read_back true"
	}
	return "Critical callout saved successfully"
}

// ownName is the service name in the tokens of this service's jobs.
const ownName = "callout"

// EvaluateBill evaluates the reports of a bill. The escalation jobs of the task queue also call it.
func (s *Server) EvaluateBill(
	ctx context.Context, in *calloutv1.EvaluateBillRequest,
) (*calloutv1.EvaluateBillResponse, error) {
	defer s.u.Durations.Measure(ctx, opEvaluate)()
	caller := authn.FromContext(ctx)
	scope, err := caller.Scope(in.GetLabId())
	if err != nil {
		return nil, err
	}
	if err := checkBill(in.GetBillId()); err != nil {
		return nil, err
	}
	// A call from this service's own job means that a deadline has passed. For other callers a value that was just
	// blanked or removed counts at once, not after three minutes.
	results, err := s.u.Evaluate.Bill(ctx, scope, in.GetBillId(), callout.Event{Named: caller.Caller != ownName})
	if err != nil {
		return nil, err
	}
	return &calloutv1.EvaluateBillResponse{Reports: statusesOf(results)}, nil
}

// EvaluateReports evaluates reports of the laboratory by id.
func (s *Server) EvaluateReports(
	ctx context.Context, in *calloutv1.EvaluateReportsRequest,
) (*calloutv1.EvaluateReportsResponse, error) {
	defer s.u.Durations.Measure(ctx, opEvaluate)()
	scope, err := authn.FromContext(ctx).Scope(in.GetLabId())
	if err != nil {
		return nil, err
	}
	if len(in.GetReportIds()) > history.MaxIDs {
		return nil, apperr.InvalidField("report_ids", "report_ids has more than 500 ids: send them in parts")
	}
	results, err := s.u.Evaluate.Reports(ctx, scope, in.GetReportIds(), callout.Event{Named: true})
	if err != nil {
		return nil, err
	}
	return &calloutv1.EvaluateReportsResponse{Reports: statusesOf(results)}, nil
}

// SetUnconfirmedValues stores the unconfirmed rerun values of a report.
func (s *Server) SetUnconfirmedValues(
	ctx context.Context, in *calloutv1.SetUnconfirmedValuesRequest,
) (*calloutv1.SetUnconfirmedValuesResponse, error) {
	defer s.u.Durations.Measure(ctx, opUnconfirmed)()
	scope, err := authn.FromContext(ctx).Scope(in.GetLabId())
	if err != nil {
		return nil, err
	}
	if in.GetReportId() <= 0 || in.GetAsOf() <= 0 {
		return nil, apperr.InvalidField("report_id", "report_id and as_of must be positive")
	}
	v := evaluate.Unconfirmed{ReportID: in.GetReportId(), AsOf: in.GetAsOf(), ReceivedAt: in.GetAsOf()}
	for _, r := range in.GetValues() {
		v.Readings = append(v.Readings, callout.Reading{
			ProfileTestID: r.GetProfileTestId(), Index: int(r.GetIndex()), Order: int(r.GetOrder()), Name: r.GetParameterName(),
			Value: r.GetValue(), At: time.UnixMicro(r.GetReceivedAt()).UTC(),
		})
		if r.GetReceivedAt() > 0 {
			v.ReceivedAt = min(v.ReceivedAt, r.GetReceivedAt())
		}
	}
	if err := s.u.Evaluate.SetUnconfirmed(ctx, scope, v); err != nil {
		return nil, err
	}
	return &calloutv1.SetUnconfirmedValuesResponse{}, nil
}

func statusesOf(results []evaluate.Result) []*calloutv1.ReportStatus {
	list := make([]*calloutv1.ReportStatus, len(results))
	for i, r := range results {
		list[i] = &calloutv1.ReportStatus{LabReportId: r.ReportID, CriticalValues: r.Status.String()}
	}
	return list
}
