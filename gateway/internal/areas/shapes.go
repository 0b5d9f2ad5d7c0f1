package areas

import (
	"encoding/json"
	"net/http"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// The error bodies of the areas that document their own.

// taskQueueShape returns the error body of the task queue: code, message and the wrong elements.
func taskQueueShape(status int, e *apperr.Error) any {
	return struct {
		Code    int          `json:"code"`
		Message string       `json:"message"`
		Errors  []fieldError `json:"errors,omitempty"`
	}{status, e.Message, fieldErrors(e)}
}

// cellCounterShape returns the error body of the cell counter: message, with status 400 the wrong elements, and data
// when there is some.
func cellCounterShape(status int, e *apperr.Error) any {
	body := struct {
		Message string          `json:"message"`
		Errors  *[]fieldError   `json:"errors,omitempty"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{Message: e.Message, Data: e.Data}
	if status == http.StatusBadRequest {
		errors := fieldErrors(e)
		body.Errors = &errors
	}
	return body
}

// billSplitShape returns the error body of the bill split; its failed_validation is always empty.
func billSplitShape(_ int, e *apperr.Error) any {
	return struct {
		Status           string   `json:"status"`
		FailedValidation []string `json:"failed_validation"`
		Message          string   `json:"message"`
	}{"failed", []string{}, e.Message}
}

type fieldError struct {
	Index   *int   `json:"index,omitempty"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

func fieldErrors(e *apperr.Error) []fieldError {
	out := make([]fieldError, 0, len(e.Fields))
	for _, f := range e.Fields {
		entry := fieldError{Field: f.Name, Message: f.Message}
		if f.Index >= 0 {
			entry.Index = &f.Index
		}
		out = append(out, entry)
	}
	return out
}
