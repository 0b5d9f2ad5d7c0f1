package grpcserver_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// login is an authenticator whose result a test sets.
type login struct{ says atomic.Pointer[verdict] }

type verdict struct {
	p   authn.Principal
	err error
}

func (l *login) Authenticate(context.Context, authn.Credentials) (authn.Principal, error) {
	says := l.says.Load()
	return says.p, says.err
}

// watching starts a server with auth and returns a stream of it, and a function that stops the server.
func watching(ctx context.Context, t *testing.T, auth *login) (
	stream grpc.ServerStreamingClient[typev1.Event], stop func(),
) {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "callout", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := grpcserver.New(config(), grpcserver.Deps{Telemetry: tel, Authenticator: auth})
	if err != nil {
		t.Fatal(err)
	}
	calloutv1.RegisterCalloutServiceServer(server, board{})
	listener := bufconn.Listen(1 << 16)
	serving, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, listener) }()
	conn, err := grpc.NewClient("passthrough:bufnet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	if stream, err = calloutv1.NewCalloutServiceClient(conn).WatchCallouts(ctx, &calloutv1.WatchCalloutsRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	return stream, func() {
		_ = conn.Close()
		cancel()
		<-served
	}
}

// A stream must end once the authenticator's result for its login changes.
func TestAStreamEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	asha := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, DepartmentIDs: []int64{4}}
	moved := asha
	moved.DepartmentIDs = []int64{5}
	for name, c := range map[string]struct {
		says verdict
		want codes.Code // Canceled: the stream continues until its reader disconnects
	}{
		"logged out":                {verdict{err: apperr.New(apperr.Unauthenticated, "SESSION_EXPIRED", "over")}, codes.Unauthenticated},
		"another department":        {verdict{p: moved}, codes.Unauthenticated},
		"no longer admitted":        {verdict{p: authn.Principal{Kind: authn.Service, Caller: "unknown"}}, codes.PermissionDenied},
		"session store unavailable": {verdict{err: apperr.New(apperr.Unavailable, "SESSION_STORE_UNAVAILABLE", "unavailable")}, codes.Canceled},
		"the same":                  {verdict{p: asha}, codes.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				auth := &login{}
				auth.says.Store(&verdict{p: asha})
				ctx, leave := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "cookie", "sessionid=asha"))
				defer leave()
				stream, stop := watching(ctx, t, auth)
				defer stop()
				auth.says.Store(&c.says)
				ended := make(chan error, 1)
				go func() {
					_, err := stream.Recv()
					ended <- err
				}()
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if open := len(ended) == 0; open != (c.want == codes.Canceled) {
					t.Errorf("after two minutes the stream is open: %t, want %t", open, c.want == codes.Canceled)
				}
				leave()
				if err := <-ended; status.Code(err) != c.want {
					t.Errorf("stream ended with %v, want %v", err, c.want)
				}
			})
		})
	}
}
