package elastic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Error is an answer of the engine that refuses a request.
type Error struct {
	Call   string // name of the endpoint
	Status int
	Type   string // such as "index_not_found_exception"; "" when the answer has no error object
	Cause  string // type of the first root cause, often more precise than Type; "" when there is none
	// Reason is the engine's sentence. It may quote documents and queries: tell cases apart by it, never print it.
	Reason string
}

// Error names the endpoint, the status and the types, and keeps the reason to itself.
func (e *Error) Error() string {
	switch {
	case e.Type == "":
		return fmt.Sprintf("%s: the search engine answered %d", e.Call, e.Status)
	case e.Cause == "" || e.Cause == e.Type:
		return fmt.Sprintf("%s: the search engine answered %d %s", e.Call, e.Status, e.Type)
	}
	return fmt.Sprintf("%s: the search engine answered %d %s (%s)", e.Call, e.Status, e.Type, e.Cause)
}

// IsStatus reports whether err is an answer with the given status.
func IsStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// IsType reports whether err is an answer of the given type, or caused by it.
func IsType(err error, kind string) bool {
	var e *Error
	return errors.As(err, &e) && (e.Type == kind || e.Cause == kind)
}

// repeatable reports whether a second attempt may do better.
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

// parseError reads the error object; proxies, HEAD and 413 answer without one.
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
		_ = json.Unmarshal(answer.Error, &e.Reason) // some refusals are a plain sentence
		return e
	}
	e.Type, e.Reason = object.Type, object.Reason
	if len(object.RootCause) > 0 {
		e.Cause = object.RootCause[0].Type
	}
	return e
}
