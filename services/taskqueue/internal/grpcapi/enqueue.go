package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/telemetry"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Enqueue accepts tasks to run now.
func (s *Server) Enqueue(ctx context.Context, in *taskqueuev1.EnqueueRequest) (*taskqueuev1.EnqueueResponse, error) {
	ids, err := s.submit(ctx, in.GetLabId(), in.GetIdempotencyKey(), submissions(in.GetTasks()))
	if err != nil {
		return nil, err
	}
	return &taskqueuev1.EnqueueResponse{Code: codeOK, JobIds: ids}, nil
}

// Schedule accepts tasks to run at a time.
func (s *Server) Schedule(ctx context.Context, in *taskqueuev1.ScheduleRequest) (*taskqueuev1.ScheduleResponse, error) {
	ids, err := s.submit(ctx, in.GetLabId(), in.GetIdempotencyKey(), scheduled(in.GetTasks()))
	if err != nil {
		return nil, err
	}
	return &taskqueuev1.ScheduleResponse{Code: codeOK, JobIds: ids}, nil
}

func (s *Server) submit(ctx context.Context, lab int64, key string, tasks []task.Submission) ([]string, error) {
	caller, err := s.caller(ctx, lab)
	if err != nil {
		return nil, err
	}
	ids, err := s.submitter.Submit(
		ctx,
		submit.Request{
			Caller: caller, Tasks: tasks, IdempotencyKey: idempotencyKey(ctx, key),
			Traceparent: traceparent(ctx), RequestID: telemetry.RequestID(ctx),
		},
	)
	if err != nil {
		return nil, err
	}
	return texts(ids), nil
}

// Mapping accepts dictionary mappings, one job each.
func (s *Server) Mapping(ctx context.Context, in *taskqueuev1.MappingRequest) (*taskqueuev1.MappingResponse, error) {
	caller, err := s.caller(ctx, in.GetLabId())
	if err != nil {
		return nil, err
	}
	list := make([]task.Mapping, len(in.GetMappings()))
	for i, m := range in.GetMappings() {
		list[i] = task.Mapping{Keyword: m.GetKeyword(), Data: m.GetData().GetJson()}
	}
	ids, err := s.submitter.Map(ctx,
		submit.Request{
			Caller: caller, IdempotencyKey: idempotencyKey(ctx, ""),
			Traceparent: traceparent(ctx), RequestID: telemetry.RequestID(ctx),
		}, list)
	if err != nil {
		return nil, err
	}
	return &taskqueuev1.MappingResponse{Code: codeOK, JobIds: texts(ids)}, nil
}

// UpdateConsent records a WhatsApp consent.
func (s *Server) UpdateConsent(
	ctx context.Context, in *taskqueuev1.UpdateConsentRequest,
) (*taskqueuev1.UpdateConsentResponse, error) {
	caller, err := s.caller(ctx, in.GetLabId())
	if err != nil {
		return nil, err
	}
	if s.consents == nil {
		return nil, apperr.New(apperr.Unimplemented, "CONSENT_NOT_DEPLOYED",
			"The consent ledger is not deployed here: the task queue runs without its database")
	}
	change := consent.Update{Type: in.GetType(), CacheKey: in.GetCacheKey(), Details: in.GetDetailsObj().GetJson()}
	if err := s.consents.Update(ctx, caller, change); err != nil {
		return nil, err
	}
	return &taskqueuev1.UpdateConsentResponse{Code: codeOK, Message: "Consent updated successfully"}, nil
}
