package rpcerr_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

func TestUpstreamRefusalIsNotTheCallersFault(t *testing.T) {
	t.Parallel()
	for kind, want := range map[apperr.Kind]codes.Code{
		apperr.Unauthenticated: codes.Unavailable, apperr.Forbidden: codes.Unavailable, apperr.Invalid: codes.Unavailable,
		apperr.Unimplemented: codes.Unavailable, apperr.TooLarge: codes.Unavailable, apperr.TooManyRequests: codes.Unavailable,
		apperr.Internal: codes.Unavailable, apperr.Unavailable: codes.Unavailable, apperr.NotFound: codes.NotFound,
		apperr.Conflict: codes.FailedPrecondition, apperr.DeadlineExceeded: codes.DeadlineExceeded, apperr.Canceled: codes.Canceled,
	} {
		refusal := rpcerr.ToStatus(apperr.New(kind, "THEIR_REASON", "their sentence")).Err()
		err := fmt.Errorf("enqueue: %w", rpcerr.FromUpstream("taskqueue", refusal))
		if apperr.KindOf(err) != kind {
			t.Errorf("KindOf an upstream's kind %d = %d, want it unchanged", kind, apperr.KindOf(err))
		}
		st := rpcerr.ToStatus(err)
		if st.Code() != want {
			t.Errorf("status of an upstream's kind %d = %v, want %v", kind, st, want)
		}
		if e := rpcerr.FromStatus(st); e.Reason == "UPSTREAM_REFUSED" && e.RetryAfter == 0 {
			t.Errorf("kind %d: RetryAfter = 0, want more", kind)
		}
		own := apperr.New(apperr.Invalid, "OURS", "ours").WithCause(err)
		if rpcerr.ToStatus(own).Code() != codes.InvalidArgument {
			t.Errorf("kind %d: status of an own error with an upstream's cause is not InvalidArgument", kind)
		}
	}
	if rpcerr.FromUpstream("taskqueue", nil) != nil {
		t.Error("FromUpstream(nil) is not nil")
	}
}
