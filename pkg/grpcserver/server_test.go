package grpcserver_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
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
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

type authenticator struct{}

func (authenticator) Authenticate(_ context.Context, c authn.Credentials) (authn.Principal, error) {
	if c.Authorization == "Bearer good" {
		return authn.Principal{Kind: authn.Bearer, LabID: 12, Internal: c.Internal}, nil
	}
	if c.Authorization == "Bearer other" {
		return authn.Principal{Kind: authn.Bearer, SessionType: authn.LabUser, LabID: 13}, nil
	}
	if name, ok := strings.CutPrefix(c.Authorization, "Bearer clinic "); ok { // users of one organization
		return authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45, Username: name}, nil
	}
	if c.Authorization == "Bearer moved person" {
		return authn.Principal{Kind: authn.Bearer, SessionType: authn.LabUser, LabID: 12, LabUserID: 77, BranchID: 3}, nil
	}
	if c.Authorization == "Bearer analyzer 1" || c.Authorization == "Bearer analyzer 2" {
		return authn.Principal{Kind: authn.Bearer, LabID: 12}, nil
	}
	if c.Authorization == "Bearer person" {
		return authn.Principal{Kind: authn.Bearer, SessionType: authn.LabUser, LabID: 12, LabUserID: 77}, nil
	}
	if caller, ok := strings.CutPrefix(c.Authorization, "Service "); ok {
		return authn.Principal{Kind: authn.Service, Caller: caller, Via: "gateway"}, nil
	}
	return authn.Principal{}, apperr.New(apperr.Unauthenticated, "CREDENTIAL_MISSING", "Log in first.")
}

// handler selects the behaviour of ListReruns by the report id.
type handler struct {
	rerunv1.UnimplementedRerunServiceServer
	release chan struct{}
	entered chan struct{}
	tel     *telemetry.Telemetry
}

func (h *handler) ListReruns(ctx context.Context, r *rerunv1.ListRerunsRequest) (*rerunv1.ListRerunsResponse, error) {
	switch r.GetLabReportId() {
	case 1:
		return nil, apperr.New(apperr.NotFound, "REPORT_NOT_FOUND", "no such report")
	case 2:
		return nil, errors.New("Error 1064 near 'Rahul'")
	case 3:
		panic("patient Rahul")
	case 4:
		h.entered <- struct{}{}
		<-h.release
	case 5:
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > 10*time.Second {
			return nil, errors.New("no deadline")
		}
	}
	return &rerunv1.ListRerunsResponse{SampleRedrawFlag: int32(authn.FromContext(ctx).LabID)}, nil
}

func start(t *testing.T, cfg grpcserver.Config) (rerunv1.RerunServiceClient, *handler, *bytes.Buffer) {
	t.Helper()
	logs := &bytes.Buffer{}
	tel, err := telemetry.Start(t.Context(), "rerun", "test", telemetry.Config{Environment: "dev", LogJSON: true}, logs)
	if err != nil {
		t.Fatal(err)
	}
	server, err := grpcserver.New(cfg, grpcserver.Deps{
		Telemetry: tel, Authenticator: authenticator{},
		Anonymous: []string{rerunv1.RerunService_AbortRerun_FullMethodName},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &handler{release: make(chan struct{}), entered: make(chan struct{}, 1), tel: tel}
	return serve(t, server, h), h, logs
}

// serve returns a client of server with the handler h.
func serve(t *testing.T, server *grpcserver.Server, h rerunv1.RerunServiceServer) rerunv1.RerunServiceClient {
	t.Helper()
	rerunv1.RegisterRerunServiceServer(server, h)
	return rerunv1.NewRerunServiceClient(connect(t, server))
}

// connect serves until the test ends, and returns a connection without a credential.
func connect(t *testing.T, server *grpcserver.Server) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient("passthrough:bufnet", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func config() grpcserver.Config {
	return grpcserver.Config{MaxInFlight: 1, DefaultDeadlineSeconds: 10, MaxMessageBytes: 1 << 20}
}

func good(t *testing.T) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer good")
}

func list(id int64) *rerunv1.ListRerunsRequest { return &rerunv1.ListRerunsRequest{LabReportId: id} }

func TestHandlersGetThePrincipalAndErrorsAreMapped(t *testing.T) {
	t.Parallel()
	client, _, logs := start(t, config())
	response, err := client.ListReruns(good(t), list(0))
	if err != nil || response.GetSampleRedrawFlag() != 12 {
		t.Fatalf("response = %v, error %v, want laboratory 12", response, err)
	}
	cases := []struct {
		name string
		ctx  context.Context
		id   int64
		want codes.Code
	}{
		{"no credential", t.Context(), 0, codes.Unauthenticated},
		{"apperr", good(t), 1, codes.NotFound},
		{"unknown error", good(t), 2, codes.Internal},
		{"panic", good(t), 3, codes.Internal},
		{"deadline given", good(t), 5, codes.OK},
	}
	for _, c := range cases {
		_, err := client.ListReruns(c.ctx, list(c.id))
		if status.Code(err) != c.want {
			t.Errorf("%s: error = %v, want %v", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "Rahul") {
			t.Errorf("%s: error sent to the caller contains patient data: %v", c.name, err)
		}
	}
	if strings.Contains(logs.String(), "Rahul") {
		t.Errorf("log contains patient data: %s", logs.String())
	}
}

func TestAnonymousMethodsStillCheckACredential(t *testing.T) {
	t.Parallel()
	client, _, _ := start(t, config())
	if _, err := client.AbortRerun(t.Context(), &rerunv1.AbortRerunRequest{}); status.Code(err) != codes.Unimplemented {
		t.Fatalf("without a credential: error = %v, want Unimplemented", err)
	}
	bad := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer bad")
	if _, err := client.AbortRerun(bad, &rerunv1.AbortRerunRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Fatalf("with a bad credential: error = %v, want Unauthenticated", err)
	}
}

func TestCallsBeyondTheSlotsAreRefusedWithARetryTime(t *testing.T) {
	t.Parallel()
	client, h, _ := start(t, config())
	busy := make(chan error, 1)
	ctx := good(t)
	go func() { _, err := client.ListReruns(ctx, list(4)); busy <- err }()
	<-h.entered
	_, err := client.ListReruns(ctx, list(0))
	if st := status.Convert(err); st.Code() != codes.Unavailable || len(st.Details()) != 2 {
		t.Fatalf("error = %v with %d details, want Unavailable with 2", err, len(st.Details()))
	}
	close(h.release)
	if err := <-busy; err != nil {
		t.Fatal(err)
	}
}

func TestCallWithTooLittleTimeIsRefused(t *testing.T) {
	t.Parallel()
	client, _, _ := start(t, config())
	ctx, cancel := context.WithTimeout(good(t), 30*time.Millisecond)
	defer cancel()
	if _, err := client.ListReruns(ctx, list(0)); status.Code(err) != codes.DeadlineExceeded {
		t.Fatalf("error = %v, want DeadlineExceeded", err)
	}
}

func TestOneLaboratoryCannotTakeAllSlots(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.MaxInFlight = 4
	client, h, _ := start(t, cfg)
	script := good(t)
	busy := make(chan error, 3)
	for range 3 {
		go func() { _, err := client.ListReruns(script, list(4)); busy <- err }()
		<-h.entered
	}
	if _, err := client.ListReruns(script, list(0)); status.Code(err) != codes.Unavailable {
		t.Errorf("fourth call of one laboratory: error = %v, want Unavailable", err)
	}
	other := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer other")
	if _, err := client.ListReruns(other, list(0)); err != nil {
		t.Errorf("call of another laboratory: %v, want success", err)
	}
	if _, err := client.ListReruns(t.Context(), list(0)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("call without a credential: error = %v, want Unauthenticated", err)
	}
	close(h.release)
	for range 3 {
		if err := <-busy; err != nil {
			t.Error(err)
		}
	}
}

// TestAdmissionRunsNoHandler checks that a call that asks for admission is only authenticated.
func TestAdmissionRunsNoHandler(t *testing.T) {
	t.Parallel()
	client, _, _ := start(t, config())
	ask := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, grpcserver.AdmissionHeader, "1")
	}
	const fails = 2 // the handler returns an internal error for this id
	if _, err := client.ListReruns(ask(good(t)), list(fails)); err != nil {
		t.Errorf("a good caller: %v, want admission", err)
	}
	if _, err := client.ListReruns(ask(t.Context()), list(fails)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("no credential: %v, want Unauthenticated", err)
	}
}
