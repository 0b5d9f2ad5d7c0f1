package ratelimit

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Metadata keys of a gRPC response that the edge passes on as headers of the same names (IETF draft "RateLimit header
// fields for HTTP").
const (
	PolicyHeader = "ratelimit-policy"
	StateHeader  = "ratelimit"
)

// Tell adds the limit and the decision to the headers of the gRPC response, so that a client can slow down before it is
// refused: `"default";q=10;w=60` and `"default";r=9`, or after a refusal `"default";r=0;t=12` with the seconds to wait.
// It does nothing if ctx is not of a gRPC call.
func Tell(ctx context.Context, limit int, window time.Duration, d Decision) {
	state := fmt.Sprintf(`"default";r=%d`, d.Remaining)
	if !d.Allowed {
		state = fmt.Sprintf(`"default";r=0;t=%d`, int64(math.Ceil(d.RetryAfter.Seconds())))
	}
	_ = grpc.SetHeader(ctx, metadata.Pairs( // fails outside a call, and once the headers are sent
		PolicyHeader, fmt.Sprintf(`"default";q=%d;w=%d`, limit, int64(window.Seconds())), StateHeader, state))
}
