package indexsync

import (
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Verdict is the result of one operation at the server.
type Verdict uint8

// Results of an operation; the first three are final.
const (
	Written    Verdict = iota // the document is in the index, or deleted from it
	Superseded                // the index has a newer version
	Poison                    // the server will never accept this document
	Busy                      // the server is overloaded: repeat more slowly
	Later                     // temporary error: repeat
	Gone                      // the target does not exist
	Broken                    // an operator has to fix the cause
)

// Final reports whether the operation is done, so that it is not repeated.
func (v Verdict) Final() bool { return v <= Poison }

// Fate is the result of one operation, with details.
type Fate struct {
	Verdict Verdict
	Kind    string // the server's error type, such as document_parsing_exception; empty if Written
	Advice  string // advice for the operator, if Broken
}

// Refusal is the rejection of a whole request. Its Verdict is Busy, Later, Gone or Broken. Its Cause may require
// smaller requests.
type Refusal struct {
	Verdict Verdict
	Cause   Cause
	Kind    string // like Fate.Kind
	Advice  string // like Fate.Advice
	Err     error
}

// Cause marks refusals after which the operations are repeated in smaller requests.
type Cause uint8

// Causes of a refusal. With Unsaid, only the verdict is relevant.
const (
	Unsaid    Cause = iota
	Malformed       // the request is unreadable because of one operation
	TooLarge        // the request is too large
)

func (r *Refusal) Error() string { return r.Err.Error() }

func (r *Refusal) Unwrap() error { return r.Err }

// refusalOf returns the refusal in err. Any other error means a lost response: the results are unknown, so the
// operations are repeated.
func refusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return &Refusal{Verdict: Later, Kind: "transport", Err: err}
}

// ErrGone is returned if the target of a write no longer exists.
var ErrGone = errors.New("the index no longer exists")

// ErrBusy is returned if the server is overloaded for longer than the writer retries.
var ErrBusy = errors.New("the search engine has too much to do")

// faultOf converts the verdict that stopped a write to a fault. For Gone, the fault wraps ErrGone, which the caller
// handles.
func faultOf(v Verdict, kind, advice string, err error) error {
	if err == nil {
		err = fmt.Errorf("the search engine answers %s", kind)
	}
	switch v {
	case Broken:
		return outcome.Operator(err, advice)
	case Gone:
		return fmt.Errorf("%w: %w", ErrGone, outcome.Operator(err, "make and fill an index with `cdc rebuild`"))
	}
	if v == Busy {
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return outcome.Retry(err)
}
