package elastic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Error is an error response of the engine.
type Error struct {
	Call   string // name of the endpoint
	Status int
	Type   string // such as "index_not_found_exception"; empty if the response has no error object
	Cause  string // type of the first root cause, often more precise than Type; empty if there is none
	// Reason is the engine's message. It may quote documents and queries: compare it, but never print it.
	Reason string
}

// Error returns the endpoint, the status and the types, without the reason.
func (e *Error) Error() string {
	switch {
	case e.Type == "":
		return fmt.Sprintf("%s: status %d from the search engine", e.Call, e.Status)
	case e.Cause == "" || e.Cause == e.Type:
		return fmt.Sprintf("%s: status %d from the search engine: %s", e.Call, e.Status, e.Type)
	}
	return fmt.Sprintf("%s: status %d from the search engine: %s (%s)", e.Call, e.Status, e.Type, e.Cause)
}

// IsStatus reports whether err is an error response with the given status.
func IsStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// IsType reports whether err is an error response whose type or root cause is kind.
func IsType(err error, kind string) bool {
	var e *Error
	return errors.As(err, &e) && (e.Type == kind || e.Cause == kind)
}

// repeatable reports whether a retry may succeed.
func repeatable(err error) bool {
	if err == nil {
		return false
	}
	var e *Error
	if !errors.As(err, &e) {
		return !errors.Is(err, errTooLarge)
	}
	return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable ||
		e.Status == http.StatusGatewayTimeout
}

// parseError returns the Error of a response. Responses of proxies, responses to HEAD, and responses with status 413
// contain no error object.
func parseError(name string, status int, body io.Reader) error {
	e := &Error{Call: name, Status: status}
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.NewDecoder(body).Decode(&answer) != nil {
		return e
	}
	var object struct {
		Type      string `json:"type"`
		Reason    string `json:"reason"`
		RootCause []struct {
			Type string `json:"type"`
		} `json:"root_cause"`
	}
	if json.Unmarshal(answer.Error, &object) != nil {
		_ = json.Unmarshal(answer.Error, &e.Reason) // some error responses are a plain string
		return e
	}
	e.Type, e.Reason = object.Type, object.Reason
	if len(object.RootCause) > 0 {
		e.Cause = object.RootCause[0].Type
	}
	return e
}
