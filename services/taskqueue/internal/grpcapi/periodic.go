package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/periodic"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// PutPeriodicJob adds or replaces a task that runs again and again.
func (s *Server) PutPeriodicJob(
	ctx context.Context, in *taskqueuev1.PutPeriodicJobRequest,
) (*taskqueuev1.PutPeriodicJobResponse, error) {
	caller, err := s.service(ctx, in.GetLabId())
	if err != nil {
		return nil, err
	}
	next, err := s.periodics.Put(ctx, caller, periodic.Request{
		Name:   in.GetName(),
		Cron:   in.GetCron(),
		Missed: in.GetMissed(),
		Task:   submissions([]*taskqueuev1.Task{in.GetTask()})[0],
	})
	if err != nil {
		return nil, err
	}
	return &taskqueuev1.PutPeriodicJobResponse{NextAt: clockText(next.UnixMilli())}, nil
}

// ListPeriodicJobs lists the caller's.
func (s *Server) ListPeriodicJobs(
	ctx context.Context, in *taskqueuev1.ListPeriodicJobsRequest,
) (*taskqueuev1.ListPeriodicJobsResponse, error) {
	caller, err := s.service(ctx, in.GetLabId())
	if err != nil {
		return nil, err
	}
	list, err := s.periodics.List(ctx, caller)
	if err != nil {
		return nil, err
	}
	out := &taskqueuev1.ListPeriodicJobsResponse{}
	for _, d := range list {
		out.Jobs = append(out.Jobs, &taskqueuev1.PeriodicJob{Name: d.Name, Cron: d.Cron, Missed: string(d.Missed),
			NextAt: clockText(d.NextMs), LastAt: optional(clockText(d.LastMs)), LastJobId: optional(string(d.LastJob))})
	}
	return out, nil
}

// DeletePeriodicJob deletes one of the caller's.
func (s *Server) DeletePeriodicJob(
	ctx context.Context, in *taskqueuev1.DeletePeriodicJobRequest,
) (*taskqueuev1.DeletePeriodicJobResponse, error) {
	caller, err := s.service(ctx, in.GetLabId())
	if err != nil {
		return nil, err
	}
	deleted, err := s.periodics.Delete(ctx, caller, in.GetName())
	if err != nil {
		return nil, err
	}
	return &taskqueuev1.DeletePeriodicJobResponse{Deleted: deleted}, nil
}

// service is a caller that is a service of the platform; nobody else has periodic jobs.
func (s *Server) service(ctx context.Context, lab int64) (task.Caller, error) {
	caller, err := s.caller(ctx, lab)
	if err == nil && !caller.Internal {
		err = apperr.New(apperr.Forbidden, "SERVICES_ONLY", "Periodic jobs belong to services of the platform")
	}
	return caller, err
}
