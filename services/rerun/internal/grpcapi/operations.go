package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

// RequestRerun requests a rerun for a person or, on internal calls, for the platform.
func (s *Server) RequestRerun(ctx context.Context, in *rerunv1.RequestRerunRequest) (*rerunv1.RequestRerunResponse, error) {
	scope, principal, err := s.enter(ctx, in.GetLabReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	command, err := commandOf(in, actor(principal))
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
func (s *Server) EvaluateAutoRerun(ctx context.Context, in *rerunv1.EvaluateAutoRerunRequest) (*rerunv1.EvaluateAutoRerunResponse, error) {
	scope, _, err := s.enter(ctx, in.GetLabReportId(), in.GetLabId())
	if err != nil {
		return nil, err
	}
	readings, err := readingsOf(in.GetDeviceData())
	if err != nil {
		return nil, err
	}
	qualifying, err := s.d.Evaluator.Evaluate(ctx, scope, in.GetLabReportId(), readings)
	if err != nil {
		return nil, err
	}
	return evaluated(qualifying), nil
}

// ListReruns lists values and open requests.
func (s *Server) ListReruns(ctx context.Context, in *rerunv1.ListRerunsRequest) (*rerunv1.ListRerunsResponse, error) {
	scope, _, err := s.enter(ctx, in.GetLabReportId(), 0)
	if err != nil {
		return nil, err
	}
	listing, err := s.d.Lister.List(ctx, scope, in.GetLabReportId())
	if err != nil {
		return nil, err
	}
	return listed(listing), nil
}

// AddValues is not served by this release.
func (s *Server) AddValues(ctx context.Context, in *rerunv1.AddValuesRequest) (*rerunv1.AddValuesResponse, error) {
	return nil, s.absent(ctx, in.GetReportId(), in.GetLabId(), "Receiving rerun values")
}

// ConfirmRerun is not served by this release.
func (s *Server) ConfirmRerun(ctx context.Context, in *rerunv1.ConfirmRerunRequest) (*rerunv1.ConfirmRerunResponse, error) {
	return nil, s.absent(ctx, in.GetLabReportId(), in.GetLabId(), "Confirming a sample rerun")
}

// AbortRerun is not served by this release.
func (s *Server) AbortRerun(ctx context.Context, in *rerunv1.AbortRerunRequest) (*rerunv1.AbortRerunResponse, error) {
	return nil, s.absent(ctx, in.GetLabReportId(), 0, "Aborting a sample rerun")
}

// absent answers callers who may ask at all with what this release lacks.
func (s *Server) absent(ctx context.Context, reportID, named int64, what string) error {
	if _, _, err := s.enter(ctx, reportID, named); err != nil {
		return err
	}
	return apperr.New(apperr.Unimplemented, "NOT_IN_THIS_RELEASE", what+" is not available in this release")
}
