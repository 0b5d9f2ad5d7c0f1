package labjson

import (
	"fmt"
	"reflect"
	"strings"
)

// SyntaxError is returned for a body that is not strict JSON. Offset is the byte at which the error was detected.
type SyntaxError struct {
	Offset  int
	Problem string // "is not valid JSON", "has the name \"key\" twice"
}

// Error returns the message for callers.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("the body %s (at byte %d)", e.Problem, e.Offset)
}

// TypeError is returned for a value of the wrong type. Path has the form "tasks[0].retry"; it is empty for the body
// itself.
type TypeError struct {
	Path    string
	Problem string // "must be an integer"
}

// Error returns the message for callers, with the whole path.
func (e *TypeError) Error() string {
	if e.Path == "" {
		return "the body " + e.Problem
	}
	return e.Path + " " + e.Problem
}

// Message returns the message with only the field's own name: "retry must be an integer".
func (e *TypeError) Message() string {
	if e.Path == "" {
		return e.Error()
	}
	return e.Path[strings.LastIndexByte(e.Path, '.')+1:] + " " + e.Problem
}

// UnknownFieldsError lists the unknown top-level names of a strict message, in the order of the body.
type UnknownFieldsError struct {
	Names []string
}

// Error returns the message for callers.
func (e *UnknownFieldsError) Error() string {
	return "Invalid fields: " + strings.Join(e.Names, ", ")
}

func mismatch(problem string) error { return &TypeError{Problem: problem} }

// inField adds the name of the enclosing field to the path of a TypeError; other errors are returned unchanged.
func inField(err error, name string) error {
	e, ok := err.(*TypeError) //nolint:errorlint // created in this package and never wrapped
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

// Must returns the expected JSON type for a Go type as part of a message, such as "must be a list". Code that decodes
// with encoding/json uses it, so that callers never see the names of Go types.
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
