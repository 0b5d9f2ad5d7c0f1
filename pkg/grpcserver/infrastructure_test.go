package grpcserver_test

import (
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
)

// serveBoard starts a callout service, and returns a connection without a credential and the server.
func serveBoard(t *testing.T, withReflection bool) (*grpc.ClientConn, *grpcserver.Server) {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "callout", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := grpcserver.New(config(), grpcserver.Deps{Telemetry: tel, Authenticator: authenticator{}, Reflection: withReflection})
	if err != nil {
		t.Fatal(err)
	}
	calloutv1.RegisterCalloutServiceServer(server, board{})
	return connect(t, server), server
}

func TestHealthIsKnownByTheNameOfTheService(t *testing.T) {
	t.Parallel()
	conn, server := serveBoard(t, false)
	client := healthv1.NewHealthClient(conn)
	for name, want := range map[string]string{"": "SERVING", "lab.callout.v1.CalloutService": "SERVING", "lab.rerun.v1.RerunService": "NotFound"} {
		answer, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: name}, grpc.WaitForReady(true))
		if got := answer.GetStatus().String(); got != want && status.Code(err).String() != want {
			t.Errorf("health of %q = %s, error %v, want %s", name, got, err, want)
		}
	}
	server.Drain()
	answer, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "lab.callout.v1.CalloutService"})
	if answer.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health while draining = %s, error %v, want NOT_SERVING", answer.GetStatus(), err)
	}
}

func TestContractsAreReflectedInDevelopmentOnly(t *testing.T) {
	t.Parallel()
	for _, inDevelopment := range []bool{true, false} {
		conn, _ := serveBoard(t, inDevelopment)
		stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context(), grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		question := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "lab.callout.v1.CalloutService"}}
		if err := stream.Send(question); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		files := strings.Join(strings.Fields(answer.GetFileDescriptorResponse().String()), "")
		switch {
		case inDevelopment && !strings.Contains(files, "lab/callout/v1/callout.proto"):
			t.Errorf("in development: files = %.200s, error %v, want the contract", files, err)
		case !inDevelopment && status.Code(err) != codes.Unimplemented:
			t.Errorf("in production: error %v, want Unimplemented", err)
		}
	}
}
