package netguard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
)

func TestRetryAfterParsesSecondsAndDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "soon": 0, "-5": 0, "30": 30 * time.Second, "86400": time.Hour,
		"9223372037": time.Hour, "99999999999999999999": time.Hour, "-99999999999999999999": 0,
		"Fri, 20 Nov 2026 10:02:00 GMT": 2 * time.Minute, "Fri, 20 Nov 2026 09:00:00 GMT": 0} {
		if got := netguard.RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("RetryAfter(%q) = %s, want %s", text, got, want)
		}
	}
}
