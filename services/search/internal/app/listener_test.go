package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestThePrefixIsStrippedAndNotDemanded(t *testing.T) {
	t.Parallel()
	says := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, what, " ", r.URL.Path) })
	}
	tests := []struct{ prefix, path, want string }{
		{"", "/health", "health /health"},
		{"", "/health/live", "health /health/live"},
		{"", "/metrics", "metrics /metrics"},
		{"", "/api/v1/users/search", "area /api/v1/users/search"},
		{"/search-service", "/search-service/health/ready", "health /health/ready"},
		{"/search-service", "/search-service/api/v1/users/501", "area /api/v1/users/501"},
		{"/search-service", "/api/v1/users/501", "area /api/v1/users/501"},
		{"/search-service", "/search-services/health", "area /search-services/health"},
		{"/search-service", "/health", "health /health"},
	}
	for _, test := range tests {
		c := ListenerConfig{PathPrefix: test.prefix}
		recorder := httptest.NewRecorder()
		c.handler(says("health"), says("metrics"), says("area")).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil))
		if got := recorder.Body.String(); got != test.want {
			t.Errorf("%s with prefix %q: %q, want %q", test.path, test.prefix, got, test.want)
		}
	}
}

func TestAPrefixThatNoPathHasIsRefused(t *testing.T) {
	t.Parallel()
	for prefix, ok := range map[string]bool{"": true, "/search": true, "/a/b": true, "search": false, "/search/": false, "/": false} {
		c := ListenerConfig{PathPrefix: prefix}
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
