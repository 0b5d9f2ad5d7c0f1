package grpcclient_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/telemetry"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// secretOfServices is the value of RERUN_SERVICE_TOKEN_SECRET and TASKQUEUE_SERVICE_TOKEN_SECRET: the same for both, at
// least 32 bytes.
const secretOfServices = config.Secret("ssssssssssssssssssssssssssssssss")

// The rerun service enqueues a task. It shares the secret of service tokens with the task queue, and Dial adds a new
// token for that service to every call. The contract's option (lab.type.v1.callers) lists the services that may call a
// method.
func ExampleDial() {
	address, stop := taskQueue()
	defer stop()
	ctx := context.Background()
	tel, err := telemetry.Start(ctx, "rerun", "v1", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens := authn.NewServiceTokens(secretOfServices, "rerun", clock.System{})
	conn, err := grpcclient.Dial(address, "taskqueue", tokens, tel)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	lab := int64(12)
	answer, err := taskqueuev1.NewTaskQueueServiceClient(conn).Enqueue(ctx, &taskqueuev1.EnqueueRequest{
		Tasks: []*taskqueuev1.Task{{
			Task: 1, TaskType: 4, Data: &typev1.RawJSON{Json: []byte(`{"contact":9876543210,"countryCode":91,"message":"Your bill is ready"}`)},
		}},
		LabId: &lab,
	})
	fmt.Println(answer.GetJobIds(), err)
	// Output:
	// enqueue: authorized as rerun: true
	// [job-1] <nil>
}

// taskQueue starts a server that stands for the task queue.
func taskQueue() (address string, stop func()) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	taskqueuev1.RegisterTaskQueueServiceServer(server, queue{})
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), server.Stop
}

type queue struct {
	taskqueuev1.UnimplementedTaskQueueServiceServer
}

// Enqueue verifies the token like every server of the platform.
func (queue) Enqueue(ctx context.Context, _ *taskqueuev1.EnqueueRequest) (*taskqueuev1.EnqueueResponse, error) {
	token := strings.TrimPrefix(strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), ""), "Bearer ")
	caller, err := authn.NewServiceTokens(secretOfServices, "taskqueue", clock.System{}).Verify(token, "taskqueue")
	fmt.Printf("enqueue: authorized as %s: %v\n", caller, err == nil)
	return &taskqueuev1.EnqueueResponse{Code: 200, JobIds: []string{"job-1"}}, nil
}
