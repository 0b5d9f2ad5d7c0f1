package engine

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// RetryAfter is how long a caller of a queue that does not answer is asked to wait.
const RetryAfter = 5 * time.Second

// Unavailable tells a caller that the queue's Redis does not answer, unless err says already what is wrong.
func Unavailable(err error) error {
	if _, known := apperr.From(err); known {
		return err
	}
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithRetryAfter(RetryAfter).WithCause(err)
}
