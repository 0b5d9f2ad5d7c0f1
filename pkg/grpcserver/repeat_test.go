package grpcserver_test

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/grpcserver"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

// counter responds to each execution with its number, and refuses reports below 10 with an error status.
type counter struct {
	rerunv1.UnimplementedRerunServiceServer
	executed atomic.Int32
}

func (c *counter) RequestRerun(ctx context.Context, r *rerunv1.RequestRerunRequest) (*rerunv1.RequestRerunResponse, error) {
	n := strconv.Itoa(int(c.executed.Add(1)))
	code := "200"
	if r.GetReportId() < 10 {
		code = "400"
	}
	return &rerunv1.RequestRerunResponse{Message: n}, grpc.SetHeader(ctx, metadata.Pairs(rpcerr.StatusMetadata, code, "etag", n))
}

func (c *counter) AddValues(context.Context, *rerunv1.AddValuesRequest) (*rerunv1.AddValuesResponse, error) {
	return &rerunv1.AddValuesResponse{Message: strconv.Itoa(int(c.executed.Add(1)))}, nil
}

func (c *counter) ListReruns(context.Context, *rerunv1.ListRerunsRequest) (*rerunv1.ListRerunsResponse, error) {
	return &rerunv1.ListRerunsResponse{SampleRedrawFlag: c.executed.Add(1)}, nil
}

func repeatable(t *testing.T, h *counter, ownKeys ...string) rerunv1.RerunServiceClient {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "rerun", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := grpcserver.New(config(), grpcserver.Deps{
		Telemetry: tel, Authenticator: authenticator{}, OwnKeys: ownKeys,
		Responses: idempotency.NewResponses(redistest.Start(t).Client(), "rerun"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, server, h)
}

func TestARequestWithAKeyIsExecutedOnce(t *testing.T) {
	t.Parallel()
	h := &counter{}
	client := repeatable(t, h)
	for _, c := range []struct {
		name, credential string
		report           int64
		keys             []string
		want             string // the number of the execution, or the code of the error
		replayed         bool
	}{
		{"first", "Bearer person", 11, []string{"k"}, "1", false},
		{"again", "Bearer person", 11, []string{"k"}, "1", true},
		{"another request", "Bearer person", 12, []string{"k"}, "FailedPrecondition", false},
		{"after a change of rights", "Bearer moved person", 11, []string{"k"}, "FailedPrecondition", false},
		{"another login", "Bearer other", 11, []string{"k"}, "2", false},
		{"without a key", "Bearer person", 11, nil, "3", false},
		{"an empty key", "Bearer person", 11, []string{""}, "InvalidArgument", false},
		{"two keys", "Bearer person", 11, []string{"k", "l"}, "InvalidArgument", false},
		{"refused by its handler", "Bearer person", 9, []string{"r"}, "4", false},
		{"refused again", "Bearer person", 9, []string{"r"}, "5", false},
		{"corrected", "Bearer person", 11, []string{"r"}, "6", false},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", c.credential)
		for _, key := range c.keys {
			ctx = metadata.AppendToOutgoingContext(ctx, idempotency.KeyHeader, key)
		}
		var header metadata.MD
		answer, err := client.RequestRerun(ctx, &rerunv1.RequestRerunRequest{ReportId: c.report}, grpc.Header(&header))
		got := answer.GetMessage()
		if err != nil {
			got = status.Code(err).String()
		}
		if got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
		if replayed := len(header.Get(idempotency.ReplayedHeader)) > 0; replayed != c.replayed {
			t.Errorf("%s: replayed %t, want %t", c.name, replayed, c.replayed)
		}
		if etag := header.Get("etag"); err == nil && (len(etag) != 1 || etag[0] != c.want) {
			t.Errorf("%s: etag %v, want %s", c.name, etag, c.want)
		}
	}
}

func TestAReadIsExecutedWithAnyKey(t *testing.T) {
	t.Parallel()
	h := &counter{}
	client := repeatable(t, h)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer person", idempotency.KeyHeader, "k")
	for want := range int32(2) {
		if got, err := client.ListReruns(ctx, list(0)); err != nil || got.GetSampleRedrawFlag() != want+1 {
			t.Errorf("%v, %v, want execution %d", got, err, want+1)
		}
	}
}

func TestAMethodThatKnowsItsKeysIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := &counter{}
	client := repeatable(t, h, rerunv1.RerunService_RequestRerun_FullMethodName)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer person", idempotency.KeyHeader, "k")
	for range 2 {
		if _, err := client.RequestRerun(ctx, &rerunv1.RequestRerunRequest{ReportId: 11}); err != nil {
			t.Error(err)
		}
	}
	if n := h.executed.Load(); n != 2 {
		t.Errorf("executed %d times, want 2", n)
	}
}

// The contract decides which methods take a key: POSTs that write.
func TestWhichMethodsAreRepeatable(t *testing.T) {
	t.Parallel()
	all := grpcserver.Repeatable()
	for method, want := range map[string]bool{
		rerunv1.RerunService_RequestRerun_FullMethodName: true, rerunv1.RerunService_ConfirmRerun_FullMethodName: true,
		rerunv1.RerunService_ListReruns_FullMethodName: false, rerunv1.RerunService_EvaluateAutoRerun_FullMethodName: false,
	} {
		if _, got := all[method]; got != want {
			t.Errorf("%s: repeatable %t, want %t", method, got, want)
		}
	}
}

// Each login must have keys of its own: all users of an organization have its id, and instruments use numbers of
// messages as keys.
func TestLoginsWithOneNumberHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := &counter{}
	client := repeatable(t, h)
	for want, credential := range []string{"Bearer analyzer 1", "Bearer analyzer 2", "Bearer clinic asha", "Bearer clinic ravi"} {
		for range 2 {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", credential, idempotency.KeyHeader, "1")
			got, err := client.AddValues(ctx, &rerunv1.AddValuesRequest{ReportId: 11})
			if err != nil || got.GetMessage() != strconv.Itoa(want+1) {
				t.Errorf("%s: %s, %v, want execution %d", credential, got.GetMessage(), err, want+1)
			}
		}
	}
}
