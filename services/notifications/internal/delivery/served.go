package delivery

import (
	"context"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/notifications/internal/served"
)

// Services is the client of the task queue that tells what it delivers.
type Services interface {
	GetService(
		ctx context.Context, in *taskqueuev1.GetServiceRequest, opts ...grpc.CallOption,
	) (*taskqueuev1.GetServiceResponse, error)
}

// Served asks the task queue whether it delivers push messages.
type Served struct{ TaskQueue Services }

var _ served.Queue = Served{}

// Unserved returns why push messages are not delivered, and of which laboratories none is. A queue of an
// older version is taken to deliver them.
func (s Served) Unserved(ctx context.Context) (served.Reason, []int64, error) {
	out, err := s.TaskQueue.GetService(ctx, &taskqueuev1.GetServiceRequest{Task: taskPush, TaskType: taskTypeReports})
	if apperr.Is(err, apperr.Unimplemented) {
		return "", nil, nil
	}
	return served.Reason(out.GetUnserved()), out.GetPausedLabs(), err
}
