package apperr

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies a failure by what the caller can do about it.
type Kind int

// The kinds. The zero value is Internal, so that a forgotten kind never looks like the caller's fault.
const (
	Internal         Kind = iota // a defect or an unexpected answer of a dependency
	Invalid                      // the request is wrong: change it
	Unauthenticated              // no credential, or one that does not verify
	Forbidden                    // the credential is good but not for this
	NotFound                     // no such thing in this laboratory
	Conflict                     // the state does not allow it
	TooLarge                     // the body exceeds the documented limit
	TooManyRequests              // rate limited: wait RetryAfter
	Unavailable                  // a dependency is down: try again
	DeadlineExceeded             // too slow: try again
	Unimplemented                // documented but not deployed here
	Canceled                     // the caller went away
)

// Field names one part of a request that is wrong. Index is the position of the element in a top-level
// array, or -1 when the request is a single object.
type Field struct {
	Index   int
	Name    string
	Message string
}

// Error is the error that crosses layers. Message is shown to callers: it never holds patient data, and it
// tells what to do next. The cause is for logs only.
type Error struct {
	Kind       Kind
	Reason     string // stable UPPER_SNAKE_CASE, documented in the service's README
	Message    string
	Details    string // more for people, where an area's error body has room for it
	Fields     []Field
	RetryAfter time.Duration // zero: unknown
	cause      error
}

// New makes an error that callers see as kind, reason and message.
func New(kind Kind, reason, message string) *Error {
	return &Error{Kind: kind, Reason: reason, Message: message}
}

// Newf is New with a formatted message.
func Newf(kind Kind, reason, format string, args ...any) *Error {
	return New(kind, reason, fmt.Sprintf(format, args...))
}

// InvalidField reports one wrong field of a single-object request; the message names the field.
func InvalidField(name, message string) *Error {
	return InvalidFields(Field{Index: -1, Name: name, Message: message})
}

// InvalidFields reports several wrong fields; the message is the first field's.
func InvalidFields(fields ...Field) *Error {
	e := New(Invalid, "INVALID_ARGUMENT", "the request is not valid")
	if len(fields) > 0 {
		e.Message = fields[0].Message
	}
	e.Fields = fields
	return e
}

// WithCause returns a copy of e that keeps err for logs and errors.Is, hidden from callers.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// WithDetails returns a copy of e with more for people to read, such as who holds what since when.
func (e *Error) WithDetails(details string) *Error {
	c := *e
	c.Details = details
	return &c
}

// WithRetryAfter returns a copy of e that tells the caller how long to wait.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Error returns the public face only: printing an error never leaks its cause.
func (e *Error) Error() string { return e.Message }

// Unwrap reveals the cause to errors.Is, errors.As and the log.
func (e *Error) Unwrap() error { return e.cause }

// From returns the outermost *Error in err's chain.
func From(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// KindOf returns the kind of the outermost *Error in err's chain, Internal when there is none.
func KindOf(err error) Kind {
	if e, ok := From(err); ok {
		return e.Kind
	}
	return Internal
}

// Is reports whether err carries kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// WithCauses is the text of err for the log: the public face and what is behind it.
func WithCauses(err error) string {
	if e, ok := From(err); ok && e.cause != nil {
		return err.Error() + ": " + e.cause.Error()
	}
	return err.Error()
}
