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

// Reasons of refusals that no error of the engine stands for.
const (
	refusedInvalid     = "invalid"
	refusedUnavailable = "unavailable"
	refusedUnserved    = "not_configured"
)

// notConfigured is the reason of errors for what people have to configure.
const notConfigured = "NOT_CONFIGURED"

// refusals are the refusals of the engine: their reasons, and what the caller is told.
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

// Refusals lists why requests are refused.
func Refusals() []string {
	reasons := []string{refusedInvalid, refusedUnavailable, refusedUnserved}
	for _, r := range refusals {
		reasons = append(reasons, r.reason)
	}
	return reasons
}

// refusal is the reason of an engine's refusal, and what the caller is told.
func refusal(err error) (reason string, answer error) {
	for _, r := range refusals {
		if errors.Is(err, r.cause) {
			return r.reason, r.answer.WithCause(err)
		}
	}
	return refusedUnavailable, engine.Unavailable(err)
}
