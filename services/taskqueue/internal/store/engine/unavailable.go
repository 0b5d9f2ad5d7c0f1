package engine

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// RetryAfter is how long callers are told to wait if Redis does not respond.
const RetryAfter = 5 * time.Second

// Unavailable converts err to a temporary error for callers: the queue's Redis cannot be reached. An err that is
// already an error for callers is returned unchanged.
func Unavailable(err error) error {
	if _, known := apperr.From(err); known {
		return err
	}
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithRetryAfter(RetryAfter).WithCause(err)
}
