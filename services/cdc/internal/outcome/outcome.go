// Package outcome defines the results of processing one record, and the two kinds of errors of a whole batch. Every
// consumed record ends with exactly one Kind: consumed = applied + superseded + coalesced + skipped + dead.
package outcome

import (
	"errors"
	"fmt"
)

// Kind is the result of processing one record.
type Kind uint8

const (
	// Applied means that the effect of the record is durable in its sink.
	Applied Kind = iota
	// Superseded means that the sink has a newer state.
	Superseded
	// Coalesced means that a later record of the same batch includes its effect.
	Coalesced
	// Skipped means that the record has no effect, such as a tombstone, an unknown operation or a table that is not
	// consumed.
	Skipped
	// Dead means that the record is invalid and can never be processed. It becomes a dead letter.
	Dead
)

var names = [...]string{"applied", "superseded", "coalesced", "skipped", "dead"}

// String returns the metric label of the kind.
func (k Kind) String() string { return names[k] }

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Applied, Superseded, Coalesced, Skipped, Dead} }

// Result is the outcome of one record, with its reason.
type Result struct {
	Kind Kind
	// Reason is the cause of Skipped or Dead, a fixed lower-case word such as "tombstone", for metrics and headers.
	Reason string
	Sink   string // with Dead: "decode", "sql" or "index"
	Err    error  // set if Dead, for operators; names columns and types, but never contains a value of a row
}

// Died returns the result for a record that can never be processed.
func Died(sink, reason string, err error) Result {
	return Result{Kind: Dead, Sink: sink, Reason: reason, Err: err}
}

// Skip returns the result for a record without an effect.
func Skip(reason string) Result { return Result{Kind: Skipped, Reason: reason} }

// Fault is the error of a batch that cannot be processed now. No record of the batch may be marked as consumed.
type Fault struct {
	Err      error
	Operator bool   // only an operator can fix it, so pause and report it
	Advice   string // advice for the operator, if Operator is set
}

// Error returns the cause and the advice.
func (f *Fault) Error() string {
	if f.Advice == "" {
		return f.Err.Error()
	}
	return fmt.Sprintf("%v; %s", f.Err, f.Advice)
}

func (f *Fault) Unwrap() error { return f.Err }

// Retry returns a fault for a temporary failure, such as an outage, a deadlock or an overload.
func Retry(err error) error { return &Fault{Err: err} }

// Operator returns a fault that an operator has to fix; advice says how.
func Operator(err error, advice string) error {
	return &Fault{Err: err, Operator: true, Advice: advice}
}

// FaultOf returns the fault in err. Any other error is treated as temporary, because dropping the batch would lose
// records.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Err: err}
}
