package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
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
	ids, err := s.submitter.Submit(ctx, submit.Request{Caller: caller, Tasks: tasks, IdempotencyKey: idempotencyKey(ctx, key), Traceparent: traceparent(ctx)})
	if err != nil {
		return nil, err
	}
	return texts(ids), nil
}

// Mapping needs the queue's MySQL, which this deployment does not have yet.
func (s *Server) Mapping(ctx context.Context, _ *taskqueuev1.MappingRequest) (*taskqueuev1.MappingResponse, error) {
	if _, err := s.caller(ctx, 0); err != nil {
		return nil, err
	}
	return nil, apperr.New(apperr.Unimplemented, "MAPPING_NOT_DEPLOYED", "Dictionary mappings are not deployed here: the task queue has no MySQL")
}

// UpdateConsent needs the queue's MySQL, which this deployment does not have yet.
func (s *Server) UpdateConsent(ctx context.Context, _ *taskqueuev1.UpdateConsentRequest) (*taskqueuev1.UpdateConsentResponse, error) {
	if _, err := s.caller(ctx, 0); err != nil {
		return nil, err
	}
	return nil, apperr.New(apperr.Unimplemented, "CONSENT_NOT_DEPLOYED", "The consent ledger is not deployed here: the task queue has no MySQL")
}
