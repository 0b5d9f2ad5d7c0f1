package netguard_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// The fuzz test checks that no notation of a private address is accepted, and no URL with credentials or a scheme other
// than HTTP.
func FuzzAcceptedURLIsPublic(f *testing.F) {
	for _, raw := range []string{
		"https://example.com/x?y=z", "http://127.0.0.1/", "http://0x7f000001/", "http://2130706433/", "http://[::ffff:10.0.0.1]/",
		"https://169.254.169.254/latest", "https://user:pw@example.com/", "file:///etc/passwd", "http://localhost./", "https://①②⑦.0.0.1/",
		"https://example.com:22/", "//example.com", "https://exa mple.com", "https://[fe80::1%25eth0]/", "http://0177.0.0.1/",
	} {
		f.Add(raw)
	}
	client := netguard.New(netguard.Config{AllowHTTP: true})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := client.CheckURL(raw)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" || strings.EqualFold(u.Hostname(), "localhost") {
			t.Errorf("accepted %q as %v, want it refused", raw, u)
		}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			addr = addr.Unmap()
			if addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
				t.Errorf("accepted %q with the address %v, want it refused", raw, addr)
			}
		}
	})
}

// The test checks that a receiver can neither cause an immediate retry by naming a time far ahead, nor prevent retries
// for ever.
func FuzzAReceiversWaitIsBounded(f *testing.F) {
	for _, text := range []string{"", "0", "30", "-1", "9223372037", "99999999999999999999", "1e3", "Fri, 20 Nov 2026 10:02:00 GMT",
		"Fri, 20 Nov 0000 10:02:00 GMT", "Friday, 20-Nov-99 10:02:00 GMT"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if wait := netguard.RetryAfter(http.Header{"Retry-After": {text}}, now); wait < 0 || wait > time.Hour {
			t.Errorf("%q is a wait of %v, want 0 to an hour", text, wait)
		}
	})
}
