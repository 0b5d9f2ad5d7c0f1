package grpcapi_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/apperr"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
)

func TestAnIdempotencyKeyReturnsTheSameIDsPerCaller(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	keyed := func(ctx context.Context) context.Context {
		return metadata.NewIncomingContext(ctx, metadata.Pairs("idempotency-key", "k1"))
	}
	first := a.enqueue(keyed(asUser(t, 12)), hook(), hook())
	if diff := cmp.Diff(first, a.enqueue(keyed(asUser(t, 12)), hook(), hook())); diff != "" {
		t.Errorf("replayed ids (-first +again):\n%s", diff)
	}
	if other := a.enqueue(keyed(asUser(t, 13)), hook(), hook()); other[0] == first[0] {
		t.Error("another laboratory got the same ids")
	}
	if _, err := a.Enqueue(keyed(asUser(t, 12)), &taskqueuev1.EnqueueRequest{Tasks: []*taskqueuev1.Task{hook()}}); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("other tasks under the key: %v", err)
	}
}

// TestTheKeysOfTwoInstrumentsAreApart: both number their messages from 1.
func TestTheKeysOfTwoInstrumentsAreApart(t *testing.T) {
	t.Parallel()
	a := open(t, grpcapi.AccessAuthenticated)
	as := func(token string) context.Context {
		return metadata.NewIncomingContext(asInstrument(t, 12), metadata.Pairs("idempotency-key", "1", "authorization", "Bearer "+token))
	}
	first := a.enqueue(as("haematology"), hook())
	if other := a.enqueue(as("chemistry"), hook()); other[0] == first[0] {
		t.Error("another instrument got the same job")
	}
	if diff := cmp.Diff(first, a.enqueue(as("haematology"), hook())); diff != "" {
		t.Errorf("replayed ids (-first +again):\n%s", diff)
	}
}
