package rpcerr

import (
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// upstreamError is another service's refusal of a call that this service made. apperr.KindOf returns the refusal's
// kind, so that the caller can branch on it. If it is not handled, ToStatus converts it to Unavailable, because the end
// user's request was not at fault; see own for the kinds that stay.
type upstreamError struct {
	service string
	refusal *apperr.Error
}

// Error returns the service's name and the refusal's message.
func (e *upstreamError) Error() string { return fmt.Sprintf("%s: %s", e.service, e.refusal.Message) }

// Unwrap returns the refusal for apperr.From.
func (e *upstreamError) Unwrap() error { return e.refusal }

// FromUpstream converts the error of a call that this service made to the service called service. Refusals become
// errors that ToStatus converts with own if the caller does not handle them; other errors are unchanged.
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

// own replaces an unhandled refusal of an upstream service by Unavailable. Kinds that are meaningful to the end user
// stay.
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
