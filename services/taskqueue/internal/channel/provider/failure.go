// Package provider owns what the providers of all channels share: how a provider's API is called once, how its
// failures are told apart, and where its secrets come from.
//
// Four classes of failure: retryable (may pass), permanent (about the message: nobody can send it), fail-over
// (permanent here, but another provider may send it: credentials, balance, configuration), and doubtful (the
// message may have been sent). Nobody retries or fails over after doubt.
package provider

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// RateLimited is the reason of failures by which a healthy provider slows us down.
const RateLimited = "rate_limited"

// failover marks a permanent failure that is about the provider.
type failover struct{ failure *job.Failure }

func (e *failover) Error() string { return e.failure.Error() }
func (e *failover) Unwrap() error { return e.failure }

// FailOver is a failure that this provider will repeat for ever and another one may not have.
func FailOver(reason, message string) error {
	return &failover{failure: job.Permanent(reason, message)}
}

// secretDelay is how long a message waits for a secret that cannot be read now.
const secretDelay = time.Minute

// NoSecret is a failure before anything was asked: another provider may send the message, else it waits.
func NoSecret(message string) error { return job.AwaitRecovery("secret", message, secretDelay) }

// IsFailOver reports whether err is about the provider and not about the message.
func IsFailOver(err error) bool {
	var e *failover
	return errors.As(err, &e)
}

// Status classifies the status of an answer that carries no better code. paid: the answer of a gateway that
// lost its backend leaves doubt. detail is put into the message, "" for none; it must not hold anything personal.
func Status(status int, h http.Header, now time.Time, paid bool, detail string) error {
	message := fmt.Sprintf("The provider answered %d", status)
	if detail != "" {
		message += " (" + detail + ")"
	}
	wait := netguard.RetryAfter(h, now)
	switch {
	case status == http.StatusTooManyRequests:
		return job.Retryable(RateLimited, message).After(wait)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusInternalServerError,
		status == http.StatusServiceUnavailable:
		return job.Retryable("http_"+strconv.Itoa(status), message).After(wait)
	case status >= http.StatusInternalServerError && paid:
		return job.Doubt("http_"+strconv.Itoa(status), message+"; the message may have been sent")
	case status >= http.StatusInternalServerError:
		return job.Retryable("http_"+strconv.Itoa(status), message).After(wait)
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity,
		status == http.StatusRequestEntityTooLarge:
		return job.Permanent("http_"+strconv.Itoa(status), message)
	default: // credentials, balance, a wrong address, a redirect
		return FailOver("http_"+strconv.Itoa(status), message)
	}
}
