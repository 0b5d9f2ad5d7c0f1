package grpcapi

import (
	"cmp"
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/telemetry"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

func (s *Server) Enqueue(ctx context.Context, in *taskqueuev1.EnqueueRequest) (*taskqueuev1.EnqueueResponse, error) {
	r, err := s.request(ctx, in.GetLabId(), in.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	ids, err := s.Tasks.Accept(ctx, r, submissions(in.GetTasks()), true)
	return &taskqueuev1.EnqueueResponse{Code: codeOK, JobIds: ids}, err
}

func (s *Server) Schedule(ctx context.Context, in *taskqueuev1.ScheduleRequest) (*taskqueuev1.ScheduleResponse, error) {
	r, err := s.request(ctx, in.GetLabId(), in.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	ids, err := s.Tasks.Accept(ctx, r, scheduled(in.GetTasks()), false)
	return &taskqueuev1.ScheduleResponse{Code: codeOK, JobIds: ids}, err
}

// Mapping accepts dictionary mappings, one job per mapping.
func (s *Server) Mapping(ctx context.Context, in *taskqueuev1.MappingRequest) (*taskqueuev1.MappingResponse, error) {
	r, err := s.request(ctx, in.GetLabId(), "")
	if err != nil {
		return nil, err
	}
	ids, err := s.Tasks.Map(ctx, r, mappings(in.GetMappings()))
	return &taskqueuev1.MappingResponse{Code: codeOK, JobIds: ids}, err
}

func (s *Server) request(ctx context.Context, lab int64, key string) (submit.Request, error) {
	caller, err := s.caller(ctx, lab)
	r := submit.Request{
		Caller: caller, IdempotencyKey: cmp.Or(key, idempotency.KeyFrom(ctx)), RequestID: telemetry.RequestID(ctx),
	}
	if caller.Instrument { // the instruments of a laboratory have one name
		r.Login = grpcserver.LoginOf(ctx, authn.FromContext(ctx))
	}
	return r, err
}

// written is a taskqueuev1.Task or ScheduledTask. A null element of a request's list becomes an empty one, which is
// rejected.
type written interface {
	GetTask() int32
	GetTaskType() int32
	GetData() *typev1.RawJSON
	GetHeaders() map[string]string
	GetLogTag() string
	GetSubscribe() string
	GetSuccessTaskHandler() string
	GetFailedTaskHandler() string
}

func submissionOf(t written, priority, retry *int32) task.Submission {
	return task.Submission{
		Task: int(t.GetTask()), Type: int(t.GetTaskType()), Data: t.GetData().GetJson(), Headers: t.GetHeaders(),
		LogTag: t.GetLogTag(), Subscribe: t.GetSubscribe(), OnSuccess: t.GetSuccessTaskHandler(),
		OnFailure: t.GetFailedTaskHandler(), Priority: whole(priority), Retry: whole(retry),
	}
}

func whole(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

func submissions(tasks []*taskqueuev1.Task) []task.Submission {
	list := make([]task.Submission, len(tasks))
	for i, t := range tasks {
		t = cmp.Or(t, &taskqueuev1.Task{})
		list[i] = submissionOf(t, t.OverridePriority, t.Retry)
	}
	return list
}

func scheduled(tasks []*taskqueuev1.ScheduledTask) []task.Submission {
	list := make([]task.Submission, len(tasks))
	for i, t := range tasks {
		t = cmp.Or(t, &taskqueuev1.ScheduledTask{})
		list[i] = submissionOf(t, t.OverridePriority, t.Retry)
		list[i].WindowKey, list[i].Override, list[i].Due = t.GetWindowDelay(), t.GetOverrideWindow() == 1, t.GetSchTime()
	}
	return list
}

func mappings(messages []*taskqueuev1.DictionaryMapping) []task.Mapping {
	list := make([]task.Mapping, len(messages))
	for i, m := range messages {
		list[i] = task.Mapping{Keyword: m.GetKeyword(), Data: m.GetData().GetJson()}
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
