package edge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

const (
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Is-External-Edit-Request"
	corsExposed = "ETag, Idempotent-Replayed, Retry-After, X-Request-Id"
	corsMaxAge  = "600"
)

// allowOrigin adds the CORS headers that let pages of trusted origins read responses with the user's session. Other
// origins get none, so browsers withhold the response from them. It reports whether it has responded to the request,
// which is the case for a preflight.
func (e *Edge) allowOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
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
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		header.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	methods := e.routes.methods(r.URL.Path)
	if len(methods) == 0 {
		writeNoSuchPath(w, callFrom(r.Context()).area)
		return true
	}
	header.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	httpserver.Harden(header)
	w.WriteHeader(http.StatusNoContent)
	return true
}
