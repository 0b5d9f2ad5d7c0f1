// Command grpcclient stands for a service of another repository. Its client code is generated from the archive of
// contracts.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	taskqueuev1 "client/gen/lab/taskqueue/v1"
	typev1 "client/gen/lab/type/v1"
)

func main() {
	address, token := os.Args[1], os.Args[2]
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer connection.Close()
	ctx := context.Background()
	health, err := healthv1.NewHealthClient(connection).Check(ctx,
		&healthv1.HealthCheckRequest{Service: taskqueuev1.TaskQueueService_ServiceDesc.ServiceName})
	check(err)
	fmt.Println("health", health.GetStatus())

	queue := taskqueuev1.NewTaskQueueServiceClient(connection)
	lab, key := int64(12), "order-42"
	data := &typev1.RawJSON{Json: []byte(`{"contact":"+919812345678","message":"Your bill is ready"}`)}
	request := &taskqueuev1.EnqueueRequest{LabId: &lab, IdempotencyKey: &key,
		Tasks: []*taskqueuev1.Task{{Task: 1, TaskType: 4, Data: data}}}
	first, err := queue.Enqueue(as(ctx, token), request)
	check(err)
	again, err := queue.Enqueue(as(ctx, token), request)
	check(err)
	fmt.Printf("enqueued %d, the repeat %v\n", len(first.GetJobIds()), first.GetJobIds()[0] == again.GetJobIds()[0])

	_, err = queue.Enqueue(as(ctx, "nonsense"), request)
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			fmt.Println("refused", info.GetReason())
		}
	}
}

func as(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
