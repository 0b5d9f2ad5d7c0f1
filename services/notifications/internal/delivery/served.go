package delivery

import (
	"context"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/served"
)

// Services is the part of the task queue's client that reports what it delivers.
type Services interface {
	GetService(
		ctx context.Context, in *taskqueuev1.GetServiceRequest, opts ...grpc.CallOption,
	) (*taskqueuev1.GetServiceResponse, error)
}

// Served queries whether the task queue delivers push messages.
type Served struct{ TaskQueue Services }

var _ served.Queue = Served{}

// Unserved returns why push messages are not delivered, "" if they are, and the laboratories whose messages are paused.
// A task queue of an older version is assumed to deliver them.
func (s Served) Unserved(ctx context.Context) (served.Reason, []int64, error) {
	out, err := s.TaskQueue.GetService(ctx, &taskqueuev1.GetServiceRequest{Task: taskPush, TaskType: taskTypeReports})
	if apperr.Is(err, apperr.Unimplemented) {
		return "", nil, nil
	}
	return served.Reason(out.GetUnserved()), out.GetPausedLabs(), err
}
