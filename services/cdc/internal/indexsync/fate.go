package indexsync

import (
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Verdict is what the server did with one operation.
type Verdict uint8

// The verdicts. The first three are final.
const (
	Written    Verdict = iota // it is in the index, or what it deletes is not
	Superseded                // the index holds something newer
	Poison                    // this document will never be accepted
	Busy                      // the server has too much to do: again, and slower
	Later                     // something is in the way that passes: again
	Gone                      // the target does not exist
	Broken                    // a person has to fix something
)

// Final reports whether sending the operation again would change nothing.
func (v Verdict) Final() bool { return v <= Poison }

// Fate is the verdict over one operation.
type Fate struct {
	Verdict Verdict
	Kind    string // the server's word for it, such as document_parsing_exception; "" for Written
	Advice  string // for Broken
}

// Refusal is a verdict over a whole request: Busy, Later, Gone or Broken, or one of the two below.
type Refusal struct {
	Verdict Verdict
	Cause   Cause
	Kind    string // as in Fate
	Advice  string // for Broken
	Err     error
}

// Cause tells two refusals apart that the sender answers by sending less at once.
type Cause uint8

// The causes. Unsaid goes by the verdict.
const (
	Unsaid    Cause = iota
	Malformed       // one of the operations makes the whole request unreadable
	TooLarge        // the request is too long
)

// Error returns the cause.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// refusalOf reads err. What is not a refusal was lost on the way: no one knows the outcome of the operations.
func refusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return &Refusal{Verdict: Later, Kind: "transport", Err: err}
}

// ErrGone reports that the target of a write does not exist any more.
var ErrGone = errors.New("the index no longer exists")

// ErrBusy reports that the server has had too much to do for longer than the writer's patience.
var ErrBusy = errors.New("the search engine has too much to do")

// faultOf turns what stops a write into a fault; Gone is the caller's to judge.
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
