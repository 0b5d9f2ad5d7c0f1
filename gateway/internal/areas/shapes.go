package areas

import (
	"encoding/json"
	"net/http"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

// The error bodies of the areas that document their own.

// taskQueueShape returns the error body of the task queue: code, message and the wrong elements.
func taskQueueShape(status int, e *apperr.Error) any {
	return struct {
		Code    int                     `json:"code"`
		Message string                  `json:"message"`
		Errors  []httpserver.FieldError `json:"errors,omitempty"`
	}{status, e.Message, httpserver.FieldErrors(e)}
}

// cellCounterShape returns the error body of the cell counter: message, the wrong elements if the status is 400, and
// data if the error has some.
func cellCounterShape(status int, e *apperr.Error) any {
	body := struct {
		Message string                   `json:"message"`
		Errors  *[]httpserver.FieldError `json:"errors,omitempty"`
		Data    json.RawMessage          `json:"data,omitempty"`
	}{Message: e.Message, Data: e.Data}
	if status == http.StatusBadRequest {
		errors := httpserver.FieldErrors(e)
		body.Errors = &errors
	}
	return body
}

// billSplitShape returns the error body of the bill split; its failed_validation is always empty.
func billSplitShape(_ int, e *apperr.Error) any {
	return struct {
		Status           string                  `json:"status"`
		FailedValidation []string                `json:"failed_validation"`
		Message          string                  `json:"message"`
		Errors           []httpserver.FieldError `json:"errors,omitempty"`
	}{"failed", []string{}, e.Message, httpserver.FieldErrors(e)}
}
