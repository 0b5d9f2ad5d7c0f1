package api

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/telemetry"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
)

// Enqueue accepts tasks to run now.
func (s *Server) Enqueue(ctx context.Context, in *taskqueuev1.EnqueueRequest) (*taskqueuev1.EnqueueResponse, error) {
	r, err := s.request(ctx, in.GetLabId(), in.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	ids, err := s.Tasks.Accept(ctx, r, withoutTime(in.GetTasks()), true)
	return &taskqueuev1.EnqueueResponse{Code: codeOK, JobIds: ids}, err
}

// Schedule accepts tasks to run at a time.
func (s *Server) Schedule(ctx context.Context, in *taskqueuev1.ScheduleRequest) (*taskqueuev1.ScheduleResponse, error) {
	r, err := s.request(ctx, in.GetLabId(), in.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	ids, err := s.Tasks.Accept(ctx, r, in.GetTasks(), false)
	return &taskqueuev1.ScheduleResponse{Code: codeOK, JobIds: ids}, err
}

// Mapping accepts dictionary mappings, one job each.
func (s *Server) Mapping(ctx context.Context, in *taskqueuev1.MappingRequest) (*taskqueuev1.MappingResponse, error) {
	r, err := s.request(ctx, in.GetLabId(), "")
	if err != nil {
		return nil, err
	}
	ids, err := s.Tasks.Map(ctx, r, in.GetMappings())
	return &taskqueuev1.MappingResponse{Code: codeOK, JobIds: ids}, err
}

func (s *Server) request(ctx context.Context, lab int64, key string) (Request, error) {
	caller, err := s.caller(ctx, lab)
	return Request{Caller: caller, IdempotencyKey: idempotencyKey(ctx, key), Traceparent: traceparent(ctx),
		RequestID: telemetry.RequestID(ctx)}, err
}

// withoutTime are tasks that run now; a null element is refused like an empty one.
func withoutTime(tasks []*taskqueuev1.Task) []*taskqueuev1.ScheduledTask {
	list := make([]*taskqueuev1.ScheduledTask, len(tasks))
	for i, t := range tasks {
		if t != nil {
			list[i] = &taskqueuev1.ScheduledTask{Task: t.GetTask(), TaskType: t.GetTaskType(), Data: t.GetData(),
				Headers: t.GetHeaders(), LogTag: t.LogTag, Subscribe: t.Subscribe, SuccessTaskHandler: t.SuccessTaskHandler,
				FailedTaskHandler: t.FailedTaskHandler, OverridePriority: t.OverridePriority, Retry: t.Retry}
		}
	}
	return list
}

// UpdateConsent records a WhatsApp consent.
func (s *Server) UpdateConsent(
	ctx context.Context, in *taskqueuev1.UpdateConsentRequest,
) (*taskqueuev1.UpdateConsentResponse, error) {
	caller, err := s.caller(ctx, in.GetLabId())
	if err != nil {
		return nil, err
	}
	if s.Consents == nil {
		return nil, apperr.New(apperr.Unimplemented, "CONSENT_NOT_DEPLOYED",
			"The consent ledger is not deployed here: the task queue runs without its database")
	}
	change := consent.Update{Type: in.GetType(), CacheKey: in.GetCacheKey(), Details: in.GetDetailsObj().GetJson()}
	if err := s.Consents.Update(ctx, caller, change); err != nil {
		return nil, err
	}
	return &taskqueuev1.UpdateConsentResponse{Code: codeOK, Message: "Consent updated successfully"}, nil
}
