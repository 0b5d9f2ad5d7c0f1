package httpserver

import (
	"fmt"
	"net/http"
)

// pagePolicy lets a page load its own files only; the sources of its styles differ by page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src %s; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page protects a page of an admin port and the paths that it calls: nothing is loaded from elsewhere, nothing is
// cached, and requests from other sites are refused. styles are sources of Content-Security-Policy, such as 'self'.
func Page(styles string, next http.Handler) http.Handler {
	policy := fmt.Sprintf(pagePolicy, styles)
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Harden(w.Header())
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	}))
}
