package httpserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// statusClientClosed is nginx's status for a client that disconnected; it appears only in metrics.
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

// Shape returns the documented error body of an area for an error.
type Shape func(status int, e *apperr.Error) any

// Envelope returns the error body of areas without a Shape of their own: code (the HTTP status), message, details, the
// wrong fields, and data when there is some.
func Envelope(status int, e *apperr.Error) any {
	return struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Details string          `json:"details"`
		Errors  []FieldError    `json:"errors,omitempty"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{status, e.Message, details(e), FieldErrors(e), e.Data}
}

// FieldError is a wrong field in an error body, the same in every area.
type FieldError struct {
	Index   *int   `json:"index,omitempty"` // of the element of a list; nil if the field belongs to none
	Field   string `json:"field"`
	Message string `json:"message"`
}

// FieldErrors returns the wrong fields of an error, an empty list if it names none.
func FieldErrors(e *apperr.Error) []FieldError {
	list := make([]FieldError, 0, len(e.Fields))
	for _, f := range e.Fields {
		entry := FieldError{Field: f.Name, Message: f.Message}
		if f.Index >= 0 {
			entry.Index = &f.Index
		}
		list = append(list, entry)
	}
	return list
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

// WriteError writes e in the area's error body, with the headers that belong to its status. It returns the status.
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

// Harden sets the headers that every response carries: no cache may store patient data, and no browser may guess a
// content type.
func Harden(header http.Header) {
	header["Cache-Control"], header["X-Content-Type-Options"] = noStore, noSniff
}

// The slices are shared by all responses, because Harden runs twice per request. Headers are replaced, never changed in
// place.
var noStore, noSniff = []string{"no-store"}, []string{"nosniff"}

// WriteJSON writes body as one line of JSON with the given status.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // fails only if the client has disconnected
}

// retryAfter returns the time to send as Retry-After, or 0 for none. It is at least a second for 429 and 503, because a
// client without it retries at once.
func retryAfter(e *apperr.Error, status int) time.Duration {
	if e.RetryAfter > 0 {
		return e.RetryAfter
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return time.Second
	}
	return 0
}
