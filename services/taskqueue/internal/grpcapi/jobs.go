package grpcapi

import (
	"cmp"
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/idempotency"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Codes in the response body, as documented.
const (
	codeOK       = 200
	codeNotFound = 401
)

const jobNotFound = "Job not found"

// GetService reports why tasks of a kind are not delivered here, if so, and which laboratories are paused.
func (s *Server) GetService(
	ctx context.Context, in *taskqueuev1.GetServiceRequest,
) (*taskqueuev1.GetServiceResponse, error) {
	if _, err := s.caller(ctx, 0); err != nil {
		return nil, err
	}
	kind, found, _ := task.Find(int(in.GetTask()), int(in.GetTaskType()))
	if !found {
		return nil, apperr.InvalidField("task_type", "there are no such task and task_type; see the table of tasks")
	}
	return &taskqueuev1.GetServiceResponse{
		Unserved: s.Unserved(kind.Channel, int(in.GetTaskType())), PausedLabs: s.PausedLabs(),
	}, nil
}

// JobInfo returns the state of one job or of several.
func (s *Server) JobInfo(ctx context.Context, in *taskqueuev1.JobInfoRequest) (*taskqueuev1.JobInfoResponse, error) {
	caller, err := s.caller(ctx, 0)
	if err != nil {
		return nil, err
	}
	ids, list, err := jobIDs("id", in.GetId(), in.GetJobId())
	if err != nil {
		return nil, err
	}
	views, err := s.Jobs.Info(ctx, caller, ids)
	if err != nil {
		return nil, err
	}
	out := &taskqueuev1.JobInfoResponse{Code: codeOK}
	var found []*taskqueuev1.Job
	for i, v := range views {
		if v == nil {
			out.Code, out.Message = codeNotFound, jobNotFound
			if list {
				out.NotFound = append(out.NotFound, ids[i])
			}
			continue
		}
		found = append(found, jobOf(v))
	}
	switch {
	case list:
		out.Jobs = found
	case len(found) == 1:
		out.Job = found[0]
	}
	return out, nil
}

// CancelJob ends waiting jobs and requests running ones to stop.
func (s *Server) CancelJob(
	ctx context.Context, in *taskqueuev1.CancelJobRequest,
) (*taskqueuev1.CancelJobResponse, error) {
	caller, err := s.caller(ctx, 0)
	if err != nil {
		return nil, err
	}
	ids, _, err := jobIDs("job_id", in.GetJobId(), in.GetId())
	if err != nil {
		return nil, err
	}
	done, err := s.Jobs.Cancel(ctx, caller, distinctIDs(ids))
	if err != nil {
		return nil, err
	}
	out := &taskqueuev1.CancelJobResponse{
		Code:            codeOK,
		Cancelled:       done.Done,
		CancelRequested: done.Requested,
		NotFound:        done.Others,
	}
	if len(done.Others) > 0 {
		out.Code, out.Message = codeNotFound, jobNotFound
	}
	if len(done.Done)+len(done.Requested) == 0 {
		idempotency.MarkRefused(ctx)
	}
	return out, nil
}

// RescheduleJob moves a waiting job.
func (s *Server) RescheduleJob(
	ctx context.Context, in *taskqueuev1.RescheduleJobRequest,
) (*taskqueuev1.RescheduleJobResponse, error) {
	caller, err := s.caller(ctx, 0)
	if err != nil {
		return nil, err
	}
	id := cmp.Or(in.GetJobId(), in.GetId())
	if id == "" {
		return nil, apperr.InvalidField("job_id", "job_id is missing")
	}
	at, err := task.ParseTime(in.GetRescAt())
	if err != nil {
		return nil, apperr.InvalidField("resc_at", "resc_at must be written YYYY-MM-DDTHH:MM:SS in UTC")
	}
	moved, err := s.Jobs.Reschedule(ctx, caller, id, at)
	if err != nil {
		return nil, err
	}
	if !moved {
		idempotency.MarkRefused(ctx)
		return &taskqueuev1.RescheduleJobResponse{Code: codeNotFound, Message: "Job not found or already executed"}, nil
	}
	return &taskqueuev1.RescheduleJobResponse{Code: codeOK, JobId: id}, nil
}

// RetryTask retries failed jobs; they run after two minutes.
func (s *Server) RetryTask(
	ctx context.Context, in *taskqueuev1.RetryTaskRequest,
) (*taskqueuev1.RetryTaskResponse, error) {
	caller, err := s.caller(ctx, 0)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(in.GetJobs()))
	for i, j := range in.GetJobs() {
		if j.GetJobId() == "" {
			return nil, apperr.InvalidFields(apperr.Field{Index: i, Name: "job_id", Message: "job_id is missing"})
		}
		ids = append(ids, j.GetJobId())
	}
	done, err := s.Jobs.RetryFailed(ctx, caller, distinctIDs(ids))
	if err != nil {
		return nil, err
	}
	out := &taskqueuev1.RetryTaskResponse{Code: codeOK, JobIds: done.Done, NotFound: done.Others}
	if len(done.Done) == 0 {
		out.Code, out.Message = codeNotFound, jobNotFound
		idempotency.MarkRefused(ctx)
	}
	return out, nil
}
