package engine

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// RetryAfter is how long callers are asked to wait when Redis does not respond.
const RetryAfter = 5 * time.Second

// Unavailable converts err to a temporary error for callers: the queue's Redis cannot be reached. It returns err
// unchanged when it is an error for callers already.
func Unavailable(err error) error {
	if _, known := apperr.From(err); known {
		return err
	}
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithRetryAfter(RetryAfter).WithCause(err)
}
