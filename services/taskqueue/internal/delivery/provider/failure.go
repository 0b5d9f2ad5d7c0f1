package provider

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// RateLimited is the reason of failures by which a healthy provider slows us down.
const RateLimited = "rate_limited"

// FailOver is a failure that this provider will repeat for ever and another one may not have.
func FailOver(reason, message string) *job.Failure {
	return &job.Failure{Reason: reason, Message: message, Permanent: true, Elsewhere: true}
}

// Unreadable is the failure of a message whose provider answered success, with a body that does not say whether it took
// the message: no other provider may send it.
func Unreadable() *job.Failure {
	return job.Doubt("unreadable_answer",
		"The provider's answer cannot be read as its settings describe it; the message may have been sent")
}

// secretDelay is how long a message waits for a secret that cannot be read now.
const secretDelay = time.Minute

// NoSecret is a failure before anything was asked: another provider may send the message, else it waits.
func NoSecret(message string) error { return job.AwaitRecovery("secret", message, secretDelay) }

// Codes are those error codes of an interface that say more than the status of the answer.
type Codes struct {
	Prefix  string // of reasons: twilio_ makes twilio_21211
	Limits  []int  // it slows us down
	Passing []int  // trouble on its side
	Message []int  // recipient, text, template, file
	Account []int  // credentials, balance, sender, region, policy
}

// Failure classifies the answer of a paid interface that did not take a message: by its code where that is known, else
// by its status. code is 0 when the answer has none.
func (c *Codes) Failure(answer *netguard.Response, code int, now time.Time) error {
	reason, message := fmt.Sprint(c.Prefix, code), fmt.Sprintf("The provider refused the message (error %d)", code)
	wait := netguard.RetryAfter(answer.Header, now)
	switch {
	case slices.Contains(c.Limits, code):
		return job.Retryable(RateLimited, message).After(wait)
	case slices.Contains(c.Passing, code):
		return job.Retryable(reason, message).After(wait)
	case slices.Contains(c.Message, code):
		return job.Permanent(reason, message)
	case slices.Contains(c.Account, code):
		return FailOver(reason, message)
	case answer.Status < http.StatusMultipleChoices: // taken, and failed at once
		return FailOver(c.Prefix+"failed", message)
	case code == 0:
		return Status(answer, now, true, "")
	}
	return Status(answer, now, true, fmt.Sprintf(" (error %d)", code))
}

// Status classifies an answer that carries no better code. paid: the answer of a gateway that lost its backend leaves
// doubt. detail is put into the message, "" for none; it must not hold anything personal.
func Status(answer *netguard.Response, now time.Time, paid bool, detail string) error {
	status := answer.Status
	reason, message := fmt.Sprintf("http_%d", status), fmt.Sprintf("The provider answered %d%s", status, detail)
	wait := netguard.RetryAfter(answer.Header, now)
	switch status {
	case http.StatusTooManyRequests:
		return job.Retryable(RateLimited, message).After(wait)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusInternalServerError, http.StatusServiceUnavailable:
		return job.Retryable(reason, message).After(wait)
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return job.Permanent(reason, message)
	}
	switch {
	case status < http.StatusInternalServerError: // credentials, balance, a wrong address, a redirect
		return FailOver(reason, message)
	case paid:
		return job.Doubt(reason, message+"; the message may have been sent")
	}
	return job.Retryable(reason, message).After(wait)
}
