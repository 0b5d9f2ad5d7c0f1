package rpcerr

import (
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// upstreamError is another service's refusal of a call of our own. apperr.KindOf sees through it, so that a caller
// branches on the kinds of the domain; what no one handled becomes our own 503 in ToStatus, because it was our call
// that was refused and not our caller's.
type upstreamError struct {
	service string
	refusal *apperr.Error
}

// Error returns the service's name and its message.
func (e *upstreamError) Error() string { return fmt.Sprintf("%s: %s", e.service, e.refusal.Message) }

// Unwrap reveals the refusal to apperr.From.
func (e *upstreamError) Unwrap() error { return e.refusal }

// FromUpstream is FromError for the calls that a service makes on its way to an answer of its own.
func FromUpstream(service string, err error) error {
	if err == nil {
		return nil
	}
	refusal, ok := apperr.From(FromError(err))
	if !ok {
		return err
	}
	return &upstreamError{service, refusal}
}

const upstreamWait = 5 * time.Second

// own replaces an upstream's refusal that no one translated. Kinds of the domain stay.
func own(err error, e *apperr.Error) *apperr.Error {
	var upstream *upstreamError
	if !errors.As(err, &upstream) || upstream.refusal != e {
		return e
	}
	switch e.Kind {
	case apperr.NotFound, apperr.Conflict, apperr.Unavailable, apperr.DeadlineExceeded, apperr.Canceled:
		return e
	default:
		return apperr.New(
			apperr.Unavailable,
			"UPSTREAM_REFUSED",
			"A part of the platform that is needed for this refused our call. Try again in a moment; if it stays, tell the operator.",
		).
			WithRetryAfter(max(e.RetryAfter, upstreamWait)).WithCause(err)
	}
}
