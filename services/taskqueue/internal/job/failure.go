package job

import (
	"errors"
	"time"
)

// Failure is why an attempt did not succeed. The message is stored and shown to the enqueuer, so it must not contain a
// message text, a recipient or a token.
type Failure struct {
	Reason     string        // stable code in lower_snake_case, also used in metrics
	Message    string        // one sentence for users
	Permanent  bool          // a retry cannot succeed
	Elsewhere  bool          // Permanent, but caused by the provider: another one may send the message
	RetryAfter time.Duration // delay requested by the receiver; 0: none
	Doubtful   bool          // the message may have been sent: the job ends as unknown
	Repeatable bool          // Doubtful, but repeating is harmless: retried first, unknown after the last retry
	Postponed  bool          // nothing was sent: run again after RetryAfter without counting an attempt
	Recovers   bool          // Postponed until a receiver recovers; after a maximum time, pauses count as attempts
	OfMessage  bool          // caused by this message or a recipient, not by the provider or receiver
	Patience   time.Duration // retried this long after the due time, even after the last retry; not if Retry is 0
	To         Destination   // paused destination: the job is parked until it is released; empty: not parked
	cause      error
}

// Permanent returns a failure that a retry cannot fix.
func Permanent(reason, message string) *Failure {
	return &Failure{Reason: reason, Message: message, Permanent: true}
}

// Retryable returns a failure that may be temporary.
func Retryable(reason, message string) *Failure { return &Failure{Reason: reason, Message: message} }

// Doubt returns a failure after which it is unknown whether the message was sent. A repetition could deliver it twice.
func Doubt(reason, message string) *Failure {
	return &Failure{Reason: reason, Message: message, Doubtful: true}
}

// RepeatableDoubt returns a doubtful failure after which a repetition is harmless, because the receiver identifies the
// message by its id.
func RepeatableDoubt(reason, message string) *Failure {
	return &Failure{Reason: reason, Message: message, Doubtful: true, Repeatable: true}
}

// Postpone returns a failure that returns the job to its lane for d without counting an attempt, because nothing was
// sent.
func Postpone(reason string, d time.Duration) *Failure {
	return &Failure{Reason: reason, Message: "The delivery was postponed", Postponed: true, RetryAfter: d}
}

// AwaitRecovery returns a failure that postpones the job, because a receiver, a provider or a dependency fails
// repeatedly. The total wait is limited by RecoveryPatience.
func AwaitRecovery(reason, message string, d time.Duration) *Failure {
	return &Failure{Reason: reason, Message: message, Postponed: true, Recovers: true, RetryAfter: d}
}

// After returns a copy of f that requests a delay of at least d before the next attempt.
func (f *Failure) After(d time.Duration) *Failure {
	c := *f
	c.RetryAfter = d
	return &c
}

// For returns a copy of f that parks the job until d is released.
func (f *Failure) For(d Destination) *Failure {
	c := *f
	c.To = d
	return &c
}

// WithCause returns a copy of f with err as its cause, for the log.
func (f *Failure) WithCause(err error) *Failure {
	c := *f
	c.cause = err
	return &c
}

// Error returns the message, which enqueuers may see.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the cause, which may only appear in the log.
func (f *Failure) Unwrap() error { return f.cause }

// AsFailure converts any error to a failure. An unclassified error is retryable, and its text is not shown.
func AsFailure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return Retryable("internal", "The delivery failed inside the task queue; it is tried again").WithCause(err)
}

// Result is what an attempt received from the provider or receiver, whether or not it was successful.
type Result struct {
	HTTPStatus int
	Excerpt    string
	MessageID  string
	Sent       bool // the message was sent and can no longer be cancelled
	// Progress is the state of each part of the message after this attempt, see package progress; nil: unchanged. It is
	// stored whenever the job may run again.
	Progress []byte
}
