package sms_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/counterpart"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
)

const nginxConfig = `daemon off;
master_process off;
pid DIR/pid;
error_log DIR/error.log;
events {}
http {
  access_log off;
  client_body_temp_path DIR/body;
  proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi;
  scgi_temp_path DIR/scgi;
  client_max_body_size 1k;
  proxy_read_timeout 1s;
  limit_req_zone $binary_remote_addr zone=once:1m rate=1r/m;
  server {
    listen 127.0.0.1:PORT;
    gzip on;
    gzip_min_length 1;
    gzip_types application/json text/plain;
    location / { proxy_pass http://UPSTREAM; }
    location /away { proxy_pass http://127.0.0.1:CLOSED; }
    location /busy { limit_req zone=once; limit_req_status 429; proxy_pass http://UPSTREAM/json; }
    location /moved { return 302 /json; }
    location /dropped { return 444; }
  }
}
`

// startNginx starts the nginx downloaded by devstack as a proxy for upstream. It returns its address.
func startNginx(t *testing.T, upstream string) string {
	t.Helper()
	dir, ports := t.TempDir(), freeport.Some(t, 2)
	at := fmt.Sprintf("127.0.0.1:%d", ports[0])
	config := strings.NewReplacer("DIR", dir, "PORT", fmt.Sprint(ports[0]), "CLOSED", fmt.Sprint(ports[1]), "UPSTREAM", upstream).Replace(nginxConfig)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	counterpart.Start(t, counterpart.Command(t, "nginx", "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", path), at)
	return "http://" + at
}

// answers is the handler of a gateway behind the proxy.
func answers(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/json":
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	case "/mark":
		_, _ = io.WriteString(w, "\ufeff"+`{"status":"ok"}`)
	case "/refused":
		_, _ = io.WriteString(w, `{"status":"no"}`)
	case "/text":
		_, _ = io.WriteString(w, "ERR 101")
	case "/error":
		w.WriteHeader(http.StatusInternalServerError)
	case "/late":
		<-r.Context().Done()
	case "/cut":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"status":"ok"}`)
		panic(http.ErrAbortHandler)
	}
}

// TestNginxBeforeAGatewayAndWhatTheSMSBecomes checks that a gateway's response determines the outcome of the message,
// while a proxy's error response only concerns the request.
func TestNginxBeforeAGatewayAndWhatTheSMSBecomes(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(answers))
	t.Cleanup(upstream.Close)
	proxy := startNginx(t, upstream.Listener.Addr().String())
	for _, c := range []struct{ path, text, want string }{
		{"/json", "ready", "sent"},
		{"/mark", "ready", "sent"},
		{"/refused", "ready", "elsewhere"},
		{"/text", "ready", "unknown"},
		{"/error", "ready", "retry"},
		{"/cut", "ready", "unknown"},  // 502; the gateway has the request
		{"/late", "ready", "unknown"}, // 504; the gateway may have the request
		{"/away", "ready", "unknown"}, // 502; unclear whether the gateway has the request
		{"/busy", "ready", "sent"},
		{"/busy", "ready", "postponed"},  // 429
		{"/dropped", "ready", "unknown"}, // the proxy closes the connection without a response
		{"/moved", "ready", "elsewhere"},
		{"/json", strings.Repeat("x", 2<<10), "permanent"}, // 413
	} {
		g, err := gateway(t, map[string]any{"url": proxy + c.path, "body": `{"text":{{json .Message}}}`, "timeout_seconds": 5,
			"success": map[string]any{"field": "status", "values": []string{"ok"}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Handle(t.Context(), delivery(fmt.Sprintf(`{"contact":9812345678,"countryCode":91,"message":%q}`, c.text)))
		if provider.Outcome(err) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.path, provider.Outcome(err), err, c.want)
		}
		t.Logf("%-9s → %s %v", c.path, provider.Outcome(err), err)
	}
}
