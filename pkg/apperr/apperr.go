package apperr

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind classifies a failure by what the caller can do about it.
type Kind int

// The kinds of failures. The zero value is Internal, so that an error without a kind never looks like the
// caller's fault.
const (
	Internal         Kind = iota // a defect, or an unexpected response of a dependency
	Invalid                      // the request is wrong; the caller must change it
	Unauthenticated              // the credential is missing or cannot be verified
	Forbidden                    // the credential is valid but lacks the permission
	NotFound                     // the object does not exist in this laboratory
	Conflict                     // the state of the object does not allow the request
	TooLarge                     // the body exceeds the documented limit
	TooManyRequests              // rate limited; retry after RetryAfter
	Unavailable                  // a dependency is unavailable; retry
	DeadlineExceeded             // the request took too long; retry
	Unimplemented                // documented but not deployed here
	Canceled                     // the caller canceled the request or disconnected
)

// Field describes a wrong field of a request. Index is the position of the element in a top-level array, or -1
// when the request is a single object.
type Field struct {
	Index   int
	Name    string
	Message string
}

// Error is the error that is passed between layers. Message is shown to callers: it states what to do next and
// never contains patient data. The cause is for logs only.
type Error struct {
	Kind    Kind
	Reason  string // stable UPPER_SNAKE_CASE, documented in the service's README
	Message string
	Details string // more text for users, where the area's error body has a field for it
	// Data is a JSON object with values for programs, where the area's error body has a field for it; nil: none.
	Data       json.RawMessage
	Fields     []Field
	RetryAfter time.Duration // zero if unknown
	cause      error
}

// New returns an error with the kind, reason and message that callers see.
func New(kind Kind, reason, message string) *Error {
	return &Error{Kind: kind, Reason: reason, Message: message}
}

// Newf returns an error like New, with a formatted message.
func Newf(kind Kind, reason, format string, args ...any) *Error {
	return New(kind, reason, fmt.Sprintf(format, args...))
}

// InvalidField returns an error for one wrong field of a single-object request; message names the field.
func InvalidField(name, message string) *Error {
	return InvalidFields(Field{Index: -1, Name: name, Message: message})
}

// InvalidFields returns an error for several wrong fields. Its message is that of the first field.
func InvalidFields(fields ...Field) *Error {
	e := New(Invalid, "INVALID_ARGUMENT", "the request is not valid")
	if len(fields) > 0 {
		e.Message = fields[0].Message
	}
	e.Fields = fields
	return e
}

// WithCause returns a copy of e with the cause err. The cause is logged and matched by errors.Is and errors.As, but
// never sent to callers.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.cause = err
	return &c
}

// WithDetails returns a copy of e with more text for users, such as who has locked a report since when.
func (e *Error) WithDetails(details string) *Error {
	c := *e
	c.Details = details
	return &c
}

// WithData returns a copy of e with values for programs: data must encode to a JSON object and contain no patient data.
func (e *Error) WithData(data any) *Error {
	c := *e
	if text, err := json.Marshal(data); err == nil {
		c.Data = text
	}
	return &c
}

// WithRetryAfter returns a copy of e with the time after which the caller may retry.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Error returns the public message only, so printing an error never leaks its cause.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause for errors.Is, errors.As and the log; nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// From returns the outermost *Error in err's chain.
func From(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// KindOf returns the kind of the outermost *Error in err's chain, or Internal if there is none.
func KindOf(err error) Kind {
	if e, ok := From(err); ok {
		return e.Kind
	}
	return Internal
}

// Is reports whether err is of this kind. It is false for a nil err.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// WithCauses returns the text of err for the log: the public message and the cause.
func WithCauses(err error) string {
	if e, ok := From(err); ok && e.cause != nil {
		return err.Error() + ": " + e.cause.Error()
	}
	return err.Error()
}
