package rpcerr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

func TestEveryKindSurvivesConversion(t *testing.T) {
	t.Parallel()
	for kind := apperr.Internal; kind <= apperr.Canceled; kind++ {
		in := apperr.New(kind, "SOME_REASON", "what to do")
		got := rpcerr.FromStatus(rpcerr.ToStatus(in))
		if got.Kind != kind || got.Reason != in.Reason || got.Message != in.Message {
			t.Errorf("kind %d converted to a status and back = %+v, want it unchanged", kind, got)
		}
	}
}

func TestFieldsAndRetryAfterSurviveConversion(t *testing.T) {
	t.Parallel()
	in := apperr.InvalidFields(
		apperr.Field{Index: 3, Name: "task_type", Message: "task_type 9 is unknown"},
		apperr.Field{Index: -1, Name: "lab_id", Message: "lab_id must be a number"},
	).WithRetryAfter(30 * time.Second).WithDetails("since 10:00").WithData(map[string]int{"version": 3})
	got := rpcerr.FromStatus(rpcerr.ToStatus(fmt.Errorf("enqueue: %w", in)))
	if diff := cmp.Diff(in.Fields, got.Fields); diff != "" {
		t.Fatalf("fields (-want +got):\n%s", diff)
	}
	if got.RetryAfter != 30*time.Second || got.Details != "since 10:00" || string(got.Data) != `{"version":3}` {
		t.Fatalf("error = %+v, want retry after 30s, the details and the data", got)
	}
}

func TestUntypedErrorsDoNotLeak(t *testing.T) {
	t.Parallel()
	st := rpcerr.ToStatus(errors.New("Error 1062 (23000): Duplicate entry 'Rahul Sharma'"))
	if st.Code() != codes.Internal || strings.Contains(st.Message(), "Rahul") {
		t.Fatalf("status = %v, want Internal without the error's text", st)
	}
	cases := map[error]codes.Code{
		context.Canceled: codes.Canceled,
		fmt.Errorf("read: %w", context.DeadlineExceeded): codes.DeadlineExceeded,
		status.Error(codes.Unavailable, "no connection"): codes.Unavailable,
	}
	for err, want := range cases {
		if got := rpcerr.ToStatus(err).Code(); got != want {
			t.Errorf("code of %v = %v, want %v", err, got, want)
		}
	}
}

func TestFromErrorKeepsTheKind(t *testing.T) {
	t.Parallel()
	err := rpcerr.FromError(status.Error(codes.NotFound, "no such report"))
	if !apperr.Is(err, apperr.NotFound) || err.Error() != "no such report" {
		t.Fatalf("FromError = %v, want NotFound with the message", err)
	}
	if rpcerr.FromError(nil) != nil {
		t.Fatal("FromError(nil) is not nil")
	}
}
