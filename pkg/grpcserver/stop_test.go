package grpcserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// board is a callout service whose stream sends one event and then waits until the reader disconnects.
type board struct {
	calloutv1.UnimplementedCalloutServiceServer
}

func (board) WatchCallouts(_ *calloutv1.WatchCalloutsRequest, stream grpc.ServerStreamingServer[typev1.Event]) error {
	if err := stream.Send(&typev1.Event{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

func TestStopDoesNotWaitForStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tel, err := telemetry.Start(t.Context(), "callout", "test", telemetry.Config{Environment: "dev"}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		cfg := config()
		cfg.MaxStreams = 1
		server, err := grpcserver.New(cfg, grpcserver.Deps{Telemetry: tel, Authenticator: authenticator{}})
		if err != nil {
			t.Fatal(err)
		}
		calloutv1.RegisterCalloutServiceServer(server, board{})
		listener := bufconn.Listen(1 << 16)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()
		conn, err := grpc.NewClient("passthrough:bufnet", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		person := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer person")
		stream, err := calloutv1.NewCalloutServiceClient(conn).WatchCallouts(person, &calloutv1.WatchCalloutsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		stop()
		begin := time.Now()
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("stream ended with %v, want EOF", err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("stop took %v, want at most 100ms", took)
		}
	})
}
