package api

import (
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
)

// Why a request was refused.
const (
	refusedInvalid     = "invalid"
	refusedConflict    = "idempotency_key_reused"
	refusedLaboratory  = "laboratory_full"
	refusedLane        = "lane_full"
	refusedMemory      = "memory_full"
	refusedUnconfirmed = "unconfirmed"
	refusedUnavailable = "unavailable"
)

// Refusals lists them.
func Refusals() []string {
	return []string{refusedInvalid, refusedConflict, refusedLaboratory, refusedLane, refusedMemory, refusedUnconfirmed,
		refusedUnavailable}
}

const (
	fullRetry = 5 * time.Second
	labRetry  = time.Minute
)

// refusal is the reason of an engine's refusal, and what the caller is told.
func refusal(err error) (reason string, answer error) {
	full := apperr.New(apperr.Unavailable, "QUEUE_FULL", "The queue is full; try again in a few seconds").
		WithRetryAfter(fullRetry).WithCause(err)
	switch {
	case errors.Is(err, engine.ErrConflict):
		return refusedConflict, apperr.New(apperr.Conflict, "IDEMPOTENCY_KEY_REUSED",
			"This idempotency key was used for other tasks; use a new key for a new request").WithCause(err)
	case errors.Is(err, engine.ErrUnconfirmed):
		return refusedUnconfirmed, apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE",
			"The tasks are not safe yet on a second machine or the disk; send them again with the same Idempotency-Key in a few seconds").
			WithRetryAfter(fullRetry).WithCause(err)
	case errors.Is(err, engine.ErrFlowFull):
		return refusedLaboratory, apperr.New(apperr.TooManyRequests, "LABORATORY_QUEUE_FULL",
			"Too many tasks of this laboratory wait; send more when some were delivered, or cancel what is not needed").
			WithRetryAfter(labRetry).WithCause(err)
	case errors.Is(err, engine.ErrLaneFull):
		return refusedLane, full
	case errors.Is(err, engine.ErrMemoryFull):
		return refusedMemory, full
	}
	return refusedUnavailable, unavailable(err)
}

func unavailable(err error) error {
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithRetryAfter(fullRetry).WithCause(err)
}
