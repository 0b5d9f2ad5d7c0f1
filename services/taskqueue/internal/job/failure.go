package job

import (
	"errors"
	"time"
)

// Failure is why an attempt did not succeed. Its message is stored and shown to the enqueuer: it never holds
// a message body, a recipient or a token.
type Failure struct {
	Reason     string        // stable lower_snake_case, for metrics
	Message    string        // one sentence for people
	Permanent  bool          // true: running again cannot help
	Elsewhere  bool          // Permanent, and about the provider: another one may send the message
	RetryAfter time.Duration // what the receiver asked for; zero: nothing
	Doubtful   bool          // the message may have been sent: the job ends as unknown
	Repeatable bool          // Doubtful, and sending again does no harm: retried first, unknown after the last retry
	Postponed  bool          // nothing was tried: run again after RetryAfter without counting an attempt
	Recovers   bool          // Postponed until someone recovers: who does not in time costs attempts after all
	OfMessage  bool          // about this message or a recipient: it says nothing of who was asked
	Patience   time.Duration // retried so long after it was due, however few retries are left, unless it has none at all
	To         Destination   // it is paused now: the job waits with the others until it may be asked; empty: by itself
	cause      error
}

// Permanent is a failure that no retry can cure.
func Permanent(reason, message string) *Failure {
	return &Failure{Reason: reason, Message: message, Permanent: true}
}

// Retryable is a failure that may pass.
func Retryable(reason, message string) *Failure { return &Failure{Reason: reason, Message: message} }

// Doubt is a failure after which no one knows whether the message was sent; sending again might double it.
func Doubt(reason, message string) *Failure {
	return &Failure{Reason: reason, Message: message, Doubtful: true}
}

// RepeatableDoubt is a doubt after which sending again does no harm, because the receiver knows the message by its id.
func RepeatableDoubt(reason, message string) *Failure {
	return &Failure{Reason: reason, Message: message, Doubtful: true, Repeatable: true}
}

// Postpone gives the job back for d without counting an attempt: nothing was tried.
func Postpone(reason string, d time.Duration) *Failure {
	return &Failure{Reason: reason, Message: "The delivery was postponed", Postponed: true, RetryAfter: d}
}

// AwaitRecovery postpones the job because a receiver, a provider or what we need to ask it fails again and again. A job
// does not wait for that without end: see RecoveryPatience.
func AwaitRecovery(reason, message string, d time.Duration) *Failure {
	return &Failure{Reason: reason, Message: message, Postponed: true, Recovers: true, RetryAfter: d}
}

// After returns a copy of f that asks for at least d before the next attempt.
func (f *Failure) After(d time.Duration) *Failure {
	c := *f
	c.RetryAfter = d
	return &c
}

// For returns a copy of f whose job waits until d may be asked again.
func (f *Failure) For(d Destination) *Failure {
	c := *f
	c.To = d
	return &c
}

// WithCause returns a copy of f that keeps err for the log.
func (f *Failure) WithCause(err error) *Failure {
	c := *f
	c.cause = err
	return &c
}

// Error returns the public sentence.
func (f *Failure) Error() string { return f.Message }

// Unwrap reveals the cause to the log.
func (f *Failure) Unwrap() error { return f.cause }

// AsFailure classifies any error: one that a handler did not classify is retryable and shown without its text.
func AsFailure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return Retryable("internal", "The delivery failed inside the task queue; it is tried again").WithCause(err)
}

// Result is what a successful or failed attempt learned from the receiver.
type Result struct {
	HTTPStatus int
	Excerpt    string
	MessageID  string
	Sent       bool // the message left the house: a cancel request comes too late
	// Progress is the fate of each part of the message after this attempt, see package progress; nil: as before it. It is
	// stored whenever the job may run again.
	Progress []byte
}
