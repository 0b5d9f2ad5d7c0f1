package edge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

const (
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Traceparent, Tracestate, X-Is-External-Edit-Request"
	corsExposed = "ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
	corsMaxAge  = "600"
)

// allowOrigin adds the CORS headers that let pages of trusted origins read responses with the user's session. Other
// origins get none, so browsers withhold the response from them. It reports whether the origin is trusted.
func (e *Edge) allowOrigin(w http.ResponseWriter, r *http.Request) bool {
	if len(e.trusted) == 0 {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(e.trusted, origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Credentials", "true")
	header.Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// preflight responds to the preflight request of a page of a trusted origin. It reports whether r is one.
func (e *Edge) preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	methods := e.routes.methods(routed(r))
	if len(methods) == 0 {
		writeNoSuchPath(w, callFrom(r.Context()).area)
		return true
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	httpserver.Harden(header)
	w.WriteHeader(http.StatusNoContent)
	return true
}
