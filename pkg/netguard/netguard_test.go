package netguard_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
)

func TestNonPublicAddressesInURLsAreRefused(t *testing.T) {
	t.Parallel()
	client := netguard.New(netguard.Config{AllowHTTP: true, Own: []netip.Addr{netip.MustParseAddr("93.184.216.34")}})
	for _, host := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.31.196.1", "192.52.193.1",
		"192.88.99.1", "192.168.1.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9",
		"224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"[::]", "[::1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]",
		"[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:2::1]", "[2001:10::1]",
		"[2001:20::1]", "[2001:db8::1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[3fff::1]", "[5f00::1]", "[fc00::1]",
		"[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[2620:4f:8000::1]", "93.184.216.34",
	} {
		if _, err := client.CheckURL("http://" + host + "/"); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("CheckURL with %s: error = %v, want ErrRefused", host, err)
		}
		if _, err := do(t, client, "http://"+host+"/"); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("Do with %s: error = %v, want ErrRefused", host, err)
		}
	}
}

func TestPublicAddressesAreAccepted(t *testing.T) {
	t.Parallel()
	client := netguard.New(netguard.Config{AllowHTTP: true})
	for _, host := range []string{"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "198.17.255.255",
		"198.20.0.1", "223.255.255.255", "[2606:4700:4700::1111]", "[2a00:1450::1]", "[2001:4860:4860::8888]", "[::ffff:8.8.8.8]", "example.com"} {
		if _, err := client.CheckURL("http://" + host + "/path?x=1"); err != nil {
			t.Errorf("CheckURL with %s: %v, want it accepted", host, err)
		}
	}
}

func TestAmbiguousURLsAreRefused(t *testing.T) {
	t.Parallel()
	client := netguard.New(netguard.Config{AllowHTTP: true})
	for _, raw := range []string{"", "ftp://example.com/", "//example.com", "http:example.com", "http://", "http://user@example.com/",
		"http://u:p@example.com/", "http://example.com/#x", "http://example.com/#", "http://example.com./", "http://exa mple.com/",
		"http://example.com\\@evil/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://1.2.3/",
		"http://[fe80::1%25eth0]/", "http://пример.рф/", "http://example.com:0/", "http://example.com:70000/", "http://example.com:/",
		"http://example.com:22/", "http://-x.com/", "http://a..b/", "http://" + strings.Repeat("a", 64) + ".com/",
		"http://example.com/" + strings.Repeat("a", 2048), "http://example.com/\r\nX: y", "javascript:alert(1)", "http://%31%32%37.0.0.1/"} {
		if _, err := client.CheckURL(raw); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("CheckURL(%q): error = %v, want ErrRefused", raw, err)
		}
	}
	if _, err := netguard.New(netguard.Config{}).CheckURL("http://example.com/"); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("http without AllowHTTP: error = %v, want ErrRefused", err)
	}
}

// do sends a GET with a timeout of two seconds.
func do(t *testing.T, c *netguard.Client, raw string) (*netguard.Response, error) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(t.Context(), netguard.Request{Method: http.MethodGet, URL: u, Timeout: 2 * time.Second})
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func exempted() *netguard.Client {
	return netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
}

func TestNameThatResolvesToAnExemptedAddressIsRefused(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}, Ports: []int{80, 443, portOf(t, server.URL)}})
	if response, err := do(t, client, server.URL); err != nil || response.Status != 200 {
		t.Fatalf("exempted host: %v, want 200", err)
	}
	rebound := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if _, err := do(t, client, rebound); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("name that resolves to loopback: error = %v, want ErrRefused", err)
	}
}

func portOf(t *testing.T, raw string) int {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	port, err := net.LookupPort("tcp", u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestRedirectIsReturnedAndNotFollowed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	})
	response, err := do(t, exempted(), server.URL)
	if err != nil || response.Status != http.StatusFound || hits.Load() != 1 {
		t.Errorf("response = %v, requests = %d, error %v, want 302 after one request", response, hits.Load(), err)
	}
}

func TestBodyIsCutAt16KiBAndStaysCompressed(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(make([]byte, 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
			return
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
	})
	for path, sent := range map[string]int{"/large": 1 << 20, "/bomb": packed.Len()} {
		response, err := do(t, exempted(), server.URL+path)
		if err != nil || len(response.Body) != min(16<<10, sent) || response.Truncated != (sent > 16<<10) {
			t.Errorf("%s: kept %d of %d bytes, want at most 16 KiB, error %v", path, len(response.Body), sent, err)
		}
	}
}

func TestSlowBodiesAndLongHeadersAreRefused(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/headers" {
			w.Header().Set("X-Long", strings.Repeat("h", 1<<20))
			return
		}
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	u, err := url.Parse(server.URL + "/slow")
	if err != nil {
		t.Fatal(err)
	}
	_, err = exempted().Do(t.Context(), netguard.Request{Method: "GET", URL: u, Timeout: 100 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow body: error = %v, want DeadlineExceeded", err)
	}
	if _, err := do(t, exempted(), server.URL+"/headers"); err == nil {
		t.Error("a megabyte of headers accepted, want an error")
	}
}

func TestTrustedClientReachesItsOriginsOnly(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	other := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	client, err := netguard.NewTrusted([]string{server.URL}, netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if response, err := do(t, client, server.URL+"/x"); err != nil || response.Status != 204 {
		t.Errorf("request to its origin: %v, want 204", err)
	}
	for _, raw := range []string{other.URL, strings.Replace(server.URL, "http:", "https:", 1), "http://1.1.1.1/",
		strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		if _, err := do(t, client, raw); !errors.Is(err, netguard.ErrRefused) {
			t.Errorf("request to %s: error = %v, want ErrRefused", raw, err)
		}
	}
	outside, err := netguard.NewTrusted([]string{server.URL}, netguard.Config{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do(t, outside, server.URL); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("origin outside Networks: error = %v, want ErrRefused", err)
	}
	for _, bad := range []string{"http://*.example.com", "http://example.com/path", "example.com", "http://u@example.com"} {
		if _, err := netguard.NewTrusted([]string{bad}, netguard.Config{}); err == nil {
			t.Errorf("origin %q accepted, want an error", bad)
		}
	}
}

func TestProxyEnvironmentIsIgnored(t *testing.T) {
	var proxied atomic.Bool
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { proxied.Store(true); w.WriteHeader(200) })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	if _, err := do(t, netguard.New(netguard.Config{AllowHTTP: true}), "http://10.1.2.3/"); !errors.Is(err, netguard.ErrRefused) || proxied.Load() {
		t.Errorf("proxy used = %v, error %v, want no proxy and ErrRefused", proxied.Load(), err)
	}
}
