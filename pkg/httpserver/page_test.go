package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

func TestLocalHostRefusesPublicNames(t *testing.T) {
	t.Parallel()
	page := httpserver.LocalHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"127.0.0.1:8004": 200, "[::1]:8004": 200, "localhost": 200, "lab-host:8004": 200, "queue.lab.svc.cluster.local": 200, "x.localhost:1": 200,
		"evil.example": 421, "127.0.0.1.evil.example:8004": 421, "evil.example.": 421, "a.internal.evil.example": 421,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/outbox/messages", nil)
		r.Host = host
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %s: status %d, want %d", host, w.Code, want)
		}
	}
}
