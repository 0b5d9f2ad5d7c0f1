package submit

import (
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const labRetry = time.Minute

var queueFull = apperr.New(apperr.Unavailable, "QUEUE_FULL", "The queue is full; try again in a few seconds").
	WithRetryAfter(engine.RetryAfter)

// Reasons for rejections that are not in refusals.
const (
	refusedInvalid     = "invalid"
	refusedUnavailable = "unavailable"
	refusedUnserved    = "not_configured"
)

// notConfigured is the reason code of errors that an operator fixes by configuration.
const notConfigured = "NOT_CONFIGURED"

// refusals maps errors of the engine to reasons, and to errors for the caller.
var refusals = []struct {
	cause  error
	reason string
	answer *apperr.Error
}{
	{engine.ErrConflict, "idempotency_key_reused", apperr.New(apperr.Conflict, "IDEMPOTENCY_KEY_REUSED",
		"This idempotency key was used for other tasks; use a new key for a new request")},
	{engine.ErrFlowFull, "laboratory_full", apperr.New(apperr.TooManyRequests, "LABORATORY_QUEUE_FULL",
		"Too many tasks of this laboratory wait; send more when some were delivered, or cancel what is not needed").
		WithRetryAfter(labRetry)},
	{engine.ErrLaneFull, "lane_full", queueFull},
	{engine.ErrMemoryFull, "memory_full", queueFull},
	{engine.ErrUnconfirmed, "unconfirmed", apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE",
		"The tasks are not safe yet on a second machine or the disk; send them again with the same Idempotency-Key in a few seconds").
		WithRetryAfter(engine.RetryAfter)},
}

// Refusals returns all reasons for which requests are rejected.
func Refusals() []string {
	reasons := []string{refusedInvalid, refusedUnavailable, refusedUnserved}
	for _, r := range refusals {
		reasons = append(reasons, r.reason)
	}
	return reasons
}

// refusal returns the reason of an engine's error, and the error for the caller.
func refusal(err error) (reason string, answer error) {
	for _, r := range refusals {
		if errors.Is(err, r.cause) {
			return r.reason, r.answer.WithCause(err)
		}
	}
	return refusedUnavailable, engine.Unavailable(err)
}
