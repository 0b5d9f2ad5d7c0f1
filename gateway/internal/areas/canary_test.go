package areas_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/gateway/internal/pages"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/grpcclient"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/telemetry"
)

const canary = "ZQCANARY"

// strange returns requests about which libraries log errors. Each has a canary where a patient's name could be.
func strange(token string) []string {
	const form = "POST /api-v3/report/external-edit/agent/7 HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\n"
	body := func(head, content string) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(content), content)
	}
	get := func(path, headers string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n"
	}
	post := func(contentType, content string) string {
		return body("POST /queue/ HTTP/1.1\r\nHost: h\r\nContent-Type: "+contentType+"\r\n"+token, content)
	}
	const path = "/api-v3/sample-rerun/7001"
	all := []string{
		canary + "\r\n\r\n", "GET /" + canary + " HTTP/9.9\r\n\r\n", canary + " / HTTP/1.1\r\nHost: h\r\n\r\n",
		get("/%zz"+canary, ""), get("/"+canary+"%00", ""), get("//"+canary+"/../x", ""), get(path+"/"+canary, ""),
		get("/api-v3/sample-rerun/"+canary, token), get(path+"?lab_id="+canary, token), get(path+"?"+canary+"=%zz", token),
		get(path, "Host: "+canary+"\r\n"), get(path, canary+"\r\n"), get(path, canary+" : x\r\n"), get(path, "X: "+canary+"\x01\r\n"),
		get(path, "Content-Length: "+canary+"\r\n"), get(path, "Transfer-Encoding: "+canary+"\r\n"),
		get(path, "Expect: "+canary+"\r\n"+token), get(path, "Connection: Upgrade\r\nUpgrade: "+canary+"\r\n"+token),
		post("application/"+canary+"; =", "{}"), post(canary+"/;"+canary+"=\"", `{"`+canary+`":`), post("text/"+canary, canary),
		post("application/json", `[{"task":"`+canary+`"}]`), post("application/json", `[{"`+canary+`":1}]`),
		body("POST /api-v3/notifications/notification-type/user-preferences HTTP/1.1\r\nHost: h\r\nContent-Type: "+
			"multipart/form-data; "+canary+"=\"\r\n", canary),
		body("POST /api-v3/notifications/notification-type/user-preferences HTTP/1.1\r\nHost: h\r\nContent-Type: "+
			"application/x-www-form-urlencoded\r\n", canary+"=%zz"+canary),
		body(form, "--b\r\n"+canary+"\r\n\r\nx\r\n--b--"), body(form, "--b\r\nContent-Disposition: "+canary+"; =\r\n\r\nx\r\n--b--"),
		body(form, canary),
	}
	for _, header := range []string{
		"Cookie", "Authorization", "Traceparent", "Tracestate", "Baggage", "Idempotency-Key", "X-Is-External-Edit-Request",
		"X-Request-Id", "Last-Event-Id", "Grpc-Timeout", "Grpc-Metadata-X", "Accept", "Accept-Encoding", "Origin", "Range", "Content-Type",
	} {
		for _, value := range []string{canary, canary + "\xff\xfe", "sessionid=" + canary + "\x7f", "Bearer " + canary + ".e30.e30"} {
			all = append(all, get(path, header+": "+value+"\r\n"))
			all = append(all, get("/operation/critical-callout/live", header+": "+value+"\r\n"))
		}
	}
	return all
}

// The test sends strange requests to both listeners while all messages of libraries are logged. No canary may be in the
// log.
func TestLogContainsNothingThatACallerSent(t *testing.T) {
	logs, err := os.Create(filepath.Join(t.TempDir(), "gateway.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	defer log.SetOutput(os.Stderr)
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev", LogLevel: -4, LogJSON: true}, logs)
	if err != nil {
		t.Fatal(err)
	}
	services, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer() // no services are registered, only the forwarded metadata matter
	go func() { _ = server.Serve(services) }()
	defer server.Stop()
	connections := map[string]grpc.ClientConnInterface{}
	for _, area := range areas.List() {
		conn, err := grpcclient.Connect(services.Addr().String(), tel)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		connections[area.Name] = conn
	}
	e, err := edge.New(t.Context(), edge.Deps{
		Telemetry: tel, Areas: areas.List(), Pages: append(pages.List(), areas.Docs()), Connections: connections,
		Tokens: authn.NewServiceTokens(secret, "gateway", clock.System{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	internal := "Authorization: " + serviceToken(t, "core", "gateway") + "\r\nX-Is-Internal-Request: True\r\n"
	for token, handler := range map[string]http.Handler{"": e.Public(), internal: e.Internal()} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = httpserver.Server{Handler: handler}.Serve(t.Context(), listener) }()
		for _, request := range strange(token) {
			speak(t, listener.Addr().String(), request)
		}
	}
	text, err := os.ReadFile(logs.Name())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, canary) {
			t.Errorf("log contains the canary: %s", line)
		}
	}
	t.Logf("%d lines of the log", strings.Count(string(text), "\n"))
}

// speak sends a request and waits for the first bytes of the response.
func speak(t *testing.T, address, request string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Read(make([]byte, 4<<10)) // returns at a response or at the end of the connection
}
