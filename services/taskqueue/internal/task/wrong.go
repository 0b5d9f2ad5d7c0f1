package task

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Wrong collects the wrong fields of a request.
type Wrong struct {
	Index  int // of the wrong element; -1: the request is none of several
	Fields []apperr.Field
}

// If notes a field when is.
func (w *Wrong) If(is bool, name, format string, args ...any) {
	if is {
		w.Fields = append(w.Fields, apperr.Field{Index: w.Index, Name: name, Message: fmt.Sprintf(format, args...)})
	}
}

// Err refuses the request when any field is wrong.
func (w *Wrong) Err() error {
	if len(w.Fields) == 0 {
		return nil
	}
	return apperr.InvalidFields(w.Fields...)
}
