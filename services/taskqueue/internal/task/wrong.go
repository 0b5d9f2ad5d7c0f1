package task

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Wrong collects the invalid fields of a request.
type Wrong struct {
	Index  int // position of the invalid element; -1: the request is a single element
	Fields []apperr.Field
}

// If adds a field if is is true.
func (w *Wrong) If(is bool, name, format string, args ...any) {
	if is {
		w.Fields = append(w.Fields, apperr.Field{Index: w.Index, Name: name, Message: fmt.Sprintf(format, args...)})
	}
}

// Err returns an error with all fields, or nil if there are none.
func (w *Wrong) Err() error {
	if len(w.Fields) == 0 {
		return nil
	}
	return apperr.InvalidFields(w.Fields...)
}
