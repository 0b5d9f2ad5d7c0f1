package rpcerr_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

func TestARefusalByAnUpstreamIsNotTheCallersFault(t *testing.T) {
	t.Parallel()
	for kind, want := range map[apperr.Kind]codes.Code{
		apperr.Unauthenticated: codes.Unavailable, apperr.Forbidden: codes.Unavailable, apperr.Invalid: codes.Unavailable,
		apperr.Unimplemented: codes.Unavailable, apperr.TooLarge: codes.Unavailable, apperr.TooManyRequests: codes.Unavailable,
		apperr.Internal: codes.Unavailable, apperr.Unavailable: codes.Unavailable, apperr.NotFound: codes.NotFound,
		apperr.Conflict: codes.FailedPrecondition, apperr.DeadlineExceeded: codes.DeadlineExceeded, apperr.Canceled: codes.Canceled,
	} {
		answer := rpcerr.ToStatus(apperr.New(kind, "THEIR_REASON", "their sentence")).Err()
		err := fmt.Errorf("enqueue: %w", rpcerr.FromUpstream("taskqueue", answer))
		if apperr.KindOf(err) != kind {
			t.Errorf("kind %d: a caller sees %d", kind, apperr.KindOf(err))
		}
		st := rpcerr.ToStatus(err)
		if st.Code() != want {
			t.Errorf("kind %d: %v, want %v", kind, st, want)
		}
		if e := rpcerr.FromStatus(st); e.Reason == "UPSTREAM_REFUSED" && e.RetryAfter == 0 {
			t.Errorf("kind %d: no time to wait", kind)
		}
		own := apperr.New(apperr.Invalid, "OURS", "ours").WithCause(err)
		if rpcerr.ToStatus(own).Code() != codes.InvalidArgument {
			t.Errorf("kind %d: an error of our own is replaced by its cause", kind)
		}
	}
	if rpcerr.FromUpstream("taskqueue", nil) != nil {
		t.Error("nil must stay nil")
	}
}
