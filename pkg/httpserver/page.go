package httpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// pagePolicy lets a page load only its own files. The sources of its styles differ by page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src %s; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Page protects a page of an admin port and the paths that it calls: nothing is loaded from elsewhere, nothing is
// cached, and writes from other sites are refused. styles are sources of Content-Security-Policy, such as 'self'.
func Page(styles string, next http.Handler) http.Handler {
	policy := fmt.Sprintf(pagePolicy, styles)
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Harden(w.Header())
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	}))
}

// LocalHost refuses requests whose Host is a name of the public internet. Otherwise a public page could point its host
// name at this address (DNS rebinding) and read what next serves. Addresses, names without a dot, and names of private
// zones are accepted.
func LocalHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			http.Error(w, "This page is served under an address or a local name. Open it by its IP address or as localhost.",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header names an address or a name of a private network.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	_, err := netip.ParseAddr(host)
	return err == nil || LocalName(host)
}

// LocalName reports whether a name belongs to a private network: it has no dot, or it is in a zone that no public name
// server answers for.
func LocalName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return !strings.Contains(host, ".") || slices.ContainsFunc(localZones, func(zone string) bool {
		return strings.HasSuffix(host, zone)
	})
}

var localZones = []string{".localhost", ".local", ".internal", ".svc"}
