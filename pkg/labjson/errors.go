package labjson

import (
	"fmt"
	"reflect"
	"strings"
)

// SyntaxError says that the body is not the strict JSON that is accepted. Offset is the byte it was noticed at.
type SyntaxError struct {
	Offset  int
	Problem string // "is not valid JSON", "has the name \"key\" twice"
}

// Error returns the sentence for callers.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the body %s (at byte %d)", e.Problem, e.Offset)
}

// TypeError says that the value at Path cannot be what the interface documents. Path has the form
// "tasks[0].retry" and is empty for the body itself.
type TypeError struct {
	Path    string
	Problem string // "must be an integer"
}

// Error returns the sentence for callers, with the whole path.
func (e *TypeError) Error() string {
	if e.Path == "" {
		return "the body " + e.Problem
	}
	return e.Path + " " + e.Problem
}

// Message returns the sentence with the field's own name only: "retry must be an integer".
func (e *TypeError) Message() string {
	if e.Path == "" {
		return e.Error()
	}
	return e.Path[strings.LastIndexByte(e.Path, '.')+1:] + " " + e.Problem
}

// UnknownFieldsError lists the top-level names that a strict message does not have, in the order they were sent.
type UnknownFieldsError struct {
	Names []string
}

// Error returns the sentence for callers.
func (e *UnknownFieldsError) Error() string {
	return "Invalid fields: " + strings.Join(e.Names, ", ")
}

func mismatch(problem string) error { return &TypeError{Problem: problem} }

// inField puts the name of the enclosing field before the path of a TypeError; other errors pass unchanged.
func inField(err error, name string) error {
	e, ok := err.(*TypeError) //nolint:errorlint // made in this package and never wrapped
	if !ok {
		return err
	}
	switch {
	case e.Path == "":
		e.Path = name
	case e.Path[0] == '[':
		e.Path = name + e.Path
	default:
		e.Path = name + "." + e.Path
	}
	return e
}

func inElement(err error, index int) error {
	return inField(err, fmt.Sprintf("[%d]", index))
}

func inKey(err error, key string) error {
	return inField(err, fmt.Sprintf("[%q]", key))
}

// Must says in the words of JSON what a value of a Go type has to be: "must be a list". Anyone who decodes with
// encoding/json uses it, so that callers never read the names of Go types.
func Must(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "must be a text"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Float32, reflect.Float64:
		return "must be a number"
	case reflect.Slice, reflect.Array:
		return "must be a list"
	case reflect.Map, reflect.Struct:
		return "must be an object"
	}
	if reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64 {
		return "must be an integer"
	}
	return "has the wrong type"
}
