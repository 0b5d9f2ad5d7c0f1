// Package outcome owns how the processing of one record can end, and the two ways in which a whole batch can fail.
// Every consumed record ends in exactly one Kind: consumed = applied + superseded + coalesced + skipped + dead.
package outcome

import (
	"errors"
	"fmt"
)

// Kind is how the processing of one record ended.
type Kind uint8

const (
	// Applied means that the record's effect is durable in its sink.
	Applied Kind = iota
	// Superseded means that the sink holds something newer.
	Superseded
	// Coalesced means that a later record of the same batch says it all.
	Coalesced
	// Skipped means that there is nothing to do, as for a tombstone, an unknown operation or a table that no one asked
	// for.
	Skipped
	// Dead means that the record itself is wrong, now and for ever. It goes to the dead-letter queue.
	Dead
)

var names = [...]string{"applied", "superseded", "coalesced", "skipped", "dead"}

// String returns the name that metrics use.
func (k Kind) String() string { return names[k] }

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Applied, Superseded, Coalesced, Skipped, Dead} }

// Result is the outcome of one record.
type Result struct {
	Kind Kind
	// Reason is why it is Skipped or Dead, a fixed lower-case word such as "tombstone"; for metrics and headers.
	Reason string
	Sink   string // of a Dead one: "decode", "sql" or "index"
	Err    error  // of a Dead one: what an operator reads; names columns and types, never a value of a row
}

// Died is the result of a record that can never be processed.
func Died(sink, reason string, err error) Result {
	return Result{Kind: Dead, Sink: sink, Reason: reason, Err: err}
}

// Skip is the result of a record that asks for nothing.
func Skip(reason string) Result { return Result{Kind: Skipped, Reason: reason} }

// Fault is why a whole batch could not be processed now. Nothing of it may be marked as consumed.
type Fault struct {
	Err      error
	Operator bool   // only a person can fix it: pause and say so
	Advice   string // what the person does next; for Operator
}

// Error returns the cause and the advice.
func (f *Fault) Error() string {
	if f.Advice == "" {
		return f.Err.Error()
	}
	return fmt.Sprintf("%v; %s", f.Err, f.Advice)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Retry wraps a failure that passes by itself: an outage, a deadlock, an overload.
func Retry(err error) error { return &Fault{Err: err} }

// Operator wraps a failure that a person has to fix; advice says how.
func Operator(err error, advice string) error {
	return &Fault{Err: err, Operator: true, Advice: advice}
}

// FaultOf returns the fault in err. An error without one is taken as a Retry: dropping would lose records.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Err: err}
}
