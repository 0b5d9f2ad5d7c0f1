package grpcapi

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

// RequestRerun requests a rerun for a person or, on internal calls, for the platform.
func (s *Server) RequestRerun(
	ctx context.Context, in *rerunv1.RequestRerunRequest,
) (*rerunv1.RequestRerunResponse, error) {
	scope, principal, err := s.enterPerson(ctx, in.GetReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	command, err := commandOf(in, principal.Actor())
	if err != nil {
		return nil, err
	}
	record, err := s.d.Requester.Request(ctx, scope, command)
	if err != nil {
		return nil, err
	}
	return requested(record), nil
}

// EvaluateAutoRerun decides on an automatic rerun and queues its request.
func (s *Server) EvaluateAutoRerun(
	ctx context.Context, in *rerunv1.EvaluateAutoRerunRequest,
) (*rerunv1.EvaluateAutoRerunResponse, error) {
	scope, _, err := s.enter(ctx, in.GetLabReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	readings, err := readingsOf(in.GetDeviceData())
	if err != nil {
		return nil, err
	}
	verdict, err := s.d.Evaluator.Evaluate(ctx, scope, in.GetLabReportId(), readings)
	if err != nil {
		return nil, err
	}
	return evaluated(verdict), nil
}

// ListReruns lists values and open requests.
func (s *Server) ListReruns(ctx context.Context, in *rerunv1.ListRerunsRequest) (*rerunv1.ListRerunsResponse, error) {
	scope, _, err := s.enter(ctx, in.GetLabReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	listing, err := s.d.Lister.List(ctx, scope, in.GetLabReportId())
	if err != nil {
		return nil, err
	}
	return listed(listing), grpc.SetHeader(ctx, metadata.Pairs("etag", etagOf(listing.AsOf)))
}

// AddValues stores the values of an instrument.
func (s *Server) AddValues(ctx context.Context, in *rerunv1.AddValuesRequest) (*rerunv1.AddValuesResponse, error) {
	scope, principal, err := s.enter(ctx, in.GetReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	command, err := receiptOf(in, principal.Actor())
	if err != nil {
		return nil, err
	}
	result, err := s.d.Receiver.Receive(ctx, scope, command)
	if err != nil {
		return nil, err
	}
	return received(result), nil
}

// ConfirmRerun replaces report values and closes the rerun.
func (s *Server) ConfirmRerun(
	ctx context.Context, in *rerunv1.ConfirmRerunRequest,
) (*rerunv1.ConfirmRerunResponse, error) {
	scope, principal, err := s.enterPerson(ctx, in.GetLabReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	match := metadata.ValueFromIncomingContext(ctx, "if-match")
	confirmation, err := confirmationOf(in, match, principal.Actor())
	if err != nil {
		return nil, err
	}
	outcome, err := s.d.Closer.Confirm(ctx, scope, confirmation)
	if err != nil {
		return nil, err
	}
	return confirmed(outcome, s.d.Editors.Editor(ctx, scope, in.GetLabReportId())), nil
}

// AbortRerun closes the rerun and keeps the report's values.
func (s *Server) AbortRerun(ctx context.Context, in *rerunv1.AbortRerunRequest) (*rerunv1.AbortRerunResponse, error) {
	scope, principal, err := s.enterPerson(ctx, in.GetLabReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	if err := s.d.Closer.Abort(ctx, scope, in.GetLabReportId(), principal.Actor()); err != nil {
		return nil, err
	}
	return aborted(), nil
}
