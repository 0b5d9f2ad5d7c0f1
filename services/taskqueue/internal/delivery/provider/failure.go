package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// RateLimited is the reason code for rate limits of a healthy provider.
const RateLimited = "rate_limited"

// limitDelay is the pause of a provider whose rate limit was reached and that requests no pause. It is short, because
// many limits are per second, and grows while the limit stays reached.
const limitDelay = 5 * time.Second

// Limited returns a failure for a rate limit. The provider has not taken the message, so the message waits without
// counting an attempt, and the provider is paused for wait or, if it is 0, for limitDelay.
func Limited(message string, wait time.Duration) *job.Failure {
	return job.AwaitRecovery(RateLimited, message, cmp.Or(wait, limitDelay))
}

// LimitedOne returns a failure like Limited for a rate limit of one recipient. It does not pause the provider.
func LimitedOne(message string, wait time.Duration) *job.Failure {
	failure := Limited(message, wait)
	failure.OfMessage = true
	return failure
}

// FailOver returns a failure that is permanent at this provider but allows another one to send the message.
func FailOver(reason, message string) *job.Failure {
	return &job.Failure{Reason: reason, Message: message, Permanent: true, Elsewhere: true}
}

// FailOverOne returns a failure like FailOver that concerns one message, for example its template or the region of its
// recipient. It does not pause the provider, which sends the messages of all others.
func FailOverOne(reason, message string) *job.Failure {
	failure := FailOver(reason, message)
	failure.OfMessage = true
	return failure
}

// Unreadable returns the failure for a successful response with an unreadable body: the message may have been sent, so
// no other provider may send it.
func Unreadable() *job.Failure {
	return job.Doubt("unreadable_answer",
		"The provider's answer cannot be read as its settings describe it; the message may have been sent")
}

// secretDelay is how long a message waits for a secret that cannot be read.
const secretDelay = time.Minute

// NoSecret returns a failure before any request: another provider may send the message; otherwise it waits.
func NoSecret(message string) error { return job.AwaitRecovery("secret", message, secretDelay) }

// Codes groups the error codes of an API by class of failure, for codes that are more specific than the HTTP status.
type Codes struct {
	Prefix  string // prefix of reason codes, such as twilio_ in twilio_21211
	Limits  []int  // rate limits
	Passing []int  // temporary failures of the provider
	Message []int  // errors of the recipient, text, template or file
	One     []int  // errors of the recipient's region, the text or the template that another provider may not have
	Account []int  // errors of the credentials, balance, sender or policy
}

// Failure classifies the response of a paid API that did not accept a message: by its code if known, otherwise by its
// status. code is 0 if the response has none.
func (c *Codes) Failure(answer *netguard.Response, code int, now time.Time) error {
	reason, message := fmt.Sprint(c.Prefix, code), fmt.Sprintf("The provider refused the message (error %d)", code)
	wait := netguard.RetryAfter(answer.Header, now)
	switch {
	case slices.Contains(c.Limits, code):
		return Limited(message, wait)
	case slices.Contains(c.Passing, code):
		return job.Retryable(reason, message).After(wait)
	case slices.Contains(c.Message, code):
		return job.Permanent(reason, message)
	case slices.Contains(c.One, code):
		return FailOverOne(reason, message)
	case slices.Contains(c.Account, code):
		return FailOver(reason, message)
	case answer.Status < http.StatusMultipleChoices: // accepted but failed immediately
		return FailOverOne(c.Prefix+"failed", message)
	case code == 0:
		return Status(answer, now, true, "")
	}
	return Status(answer, now, true, fmt.Sprintf(" (error %d)", code))
}

// Status classifies a response by its HTTP status. If paid is set, 5xx other than 500 and 503 leave the outcome
// unknown, because a gateway may have lost a backend that sent the message. detail is appended to the message and must
// not contain personal data.
func Status(answer *netguard.Response, now time.Time, paid bool, detail string) error {
	status := answer.Status
	reason, message := fmt.Sprintf("http_%d", status), fmt.Sprintf("The provider answered %d%s", status, detail)
	wait := netguard.RetryAfter(answer.Header, now)
	switch status {
	case http.StatusTooManyRequests:
		return Limited(message, wait)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusInternalServerError, http.StatusServiceUnavailable:
		return job.Retryable(reason, message).After(wait)
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return job.Permanent(reason, message)
	}
	switch {
	case status < http.StatusInternalServerError: // credentials, balance, wrong address, or redirect
		return FailOver(reason, message)
	case paid:
		return job.Doubt(reason, message+"; the message may have been sent")
	}
	return job.Retryable(reason, message).After(wait)
}
