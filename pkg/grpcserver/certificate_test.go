package grpcserver_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/testkit/certificates"
	"github.com/labplatform/labplatform/pkg/tlsfiles"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

func TestServiceTokenNeedsTheCertificateOfItsService(t *testing.T) {
	t.Parallel()
	ours := certificates.Made(t, "ours")
	member := func(name string) tlsfiles.Config {
		ours.Names = []string{name}
		return tlsfiles.Config(ours.Member(t, t.TempDir(), time.Now().Add(time.Hour), ours))
	}
	cfg := config()
	cfg.TLS = member("rerun")
	tel, err := telemetry.Start(t.Context(), "rerun", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := grpcserver.New(cfg, grpcserver.Deps{Telemetry: tel, Authenticator: authenticator{}})
	if err != nil {
		t.Fatal(err)
	}
	rerunv1.RegisterRerunServiceServer(server, &handler{})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		certificate, credential string
		want                    codes.Code
	}{
		{"gateway", "Service core", codes.OK}, // the gateway's token, on behalf of core
		{"cellcounter", "Service core", codes.PermissionDenied},
		{"gateway", "Bearer good", codes.OK}, // a user's credential, which the gateway forwards
	} {
		conn, err := grpc.NewClient(listener.Addr().String(), grpcclient.WithTLS(member(c.certificate)))
		if err != nil {
			t.Fatal(err)
		}
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", c.credential)
		_, err = rerunv1.NewRerunServiceClient(conn).ListReruns(ctx, list(0))
		if status.Code(err) != c.want {
			t.Errorf("certificate of %s with %q: error = %v, want %v", c.certificate, c.credential, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "DNS names") {
			t.Errorf("error = %v, want it to mention DNS names", err)
		}
		_ = conn.Close()
	}
}
