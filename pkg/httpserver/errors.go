package httpserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// statusClientClosed is nginx's code for a caller that went away; no one reads it but the metrics.
const statusClientClosed = 499

var statuses = map[apperr.Kind]int{
	apperr.Internal:         http.StatusInternalServerError,
	apperr.Invalid:          http.StatusBadRequest,
	apperr.Unauthenticated:  http.StatusUnauthorized,
	apperr.Forbidden:        http.StatusForbidden,
	apperr.NotFound:         http.StatusNotFound,
	apperr.Conflict:         http.StatusConflict,
	apperr.TooLarge:         http.StatusRequestEntityTooLarge,
	apperr.TooManyRequests:  http.StatusTooManyRequests,
	apperr.Unavailable:      http.StatusServiceUnavailable,
	apperr.DeadlineExceeded: http.StatusGatewayTimeout,
	apperr.Unimplemented:    http.StatusNotImplemented,
	apperr.Canceled:         statusClientClosed,
}

// Status returns the HTTP status of a kind.
func Status(kind apperr.Kind) int { return statuses[kind] }

// Shape makes the documented error body of an area.
type Shape func(status int, e *apperr.Error) any

// Envelope is the body of the areas without a shape of their own: code (the HTTP status), message, details.
func Envelope(status int, e *apperr.Error) any {
	return struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Details string `json:"details"`
	}{status, e.Message, details(e)}
}

func details(e *apperr.Error) string {
	if e.Details != "" || len(e.Fields) == 0 {
		return e.Details
	}
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Message
	}
	return strings.Join(parts, "; ")
}

// WriteError answers with the area's body of e, and the headers that belong to its status. It returns the
// status.
func WriteError(w http.ResponseWriter, shape Shape, e *apperr.Error) int {
	status := Status(e.Kind)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	Harden(header)
	if wait := retryAfter(e, status); wait > 0 {
		header.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="labplatform"`)
	}
	WriteJSON(w, status, shape(status, e))
	return status
}

// Harden sets what every answer carries: patients' data stays in no cache, and no browser guesses a type.
func Harden(header http.Header) {
	header["Cache-Control"], header["X-Content-Type-Options"] = noStore, noSniff
}

// One value for all answers, since this happens to every request twice: headers are replaced, never changed in place.
var noStore, noSniff = []string{"no-store"}, []string{"nosniff"}

// WriteJSON writes body as one line of JSON.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // the peer went away: no one is left to tell
}

// retryAfter is never empty on 429 and 503: a client without a hint retries at once.
func retryAfter(e *apperr.Error, status int) time.Duration {
	if e.RetryAfter > 0 {
		return e.RetryAfter
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return time.Second
	}
	return 0
}
