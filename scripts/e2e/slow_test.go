package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// cutAfter is the maximum time until a request with an incomplete body gets a response or is cut off, on a busy
// machine.
const cutAfter = 15 * time.Second

// listeners returns the HTTP listeners of the stack by name.
func listeners(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{"public": stack.Endpoints.Gateway, "internal": stack.Endpoints.GatewayInternal}
	for service, environ := range stack.Endpoints.Environ {
		for name, value := range environ {
			if strings.HasSuffix(name, "_ADMIN_PORT") {
				found["admin of "+service] = "http://127.0.0.1:" + value
			}
		}
	}
	if len(found) < 4 {
		t.Fatalf("only %v", found)
	}
	return found
}

// A body that does not arrive must not hold a connection, on any listener, including unknown paths.
func TestSlowBodiesAreAnsweredOrCut(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for name, base := range listeners(t) {
		for _, path := range []string{"/nothing/here", "/queue/"} {
			all.Go(func() {
				if err := sendSlowly(base, path); err != nil {
					t.Errorf("%s %s: got error %v, want none", name, path, err)
				}
			})
		}
	}
	all.Wait()
}

// sendSlowly sends one byte of a body of a hundred and waits until the connection is closed.
func sendSlowly(base, path string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	begin := time.Now()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[", path, u.Host)
	if err != nil {
		return err
	}
	if err := conn.SetReadDeadline(begin.Add(cutAfter + 10*time.Second)); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if took := time.Since(begin); errors.Is(err, os.ErrDeadlineExceeded) || took > cutAfter {
		return fmt.Errorf("open for %v; it said %.100q", took, answer)
	}
	return nil
}

// A service is reached again within seconds after an outage. The gateway must not wait for the reconnect delays that
// grew during it.
func TestAServiceIsReachedSoonAfterAnOutage(t *testing.T) {
	outage := 20 * time.Second
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		outage = time.Minute
	}
	const path = "/api-v3/cell-counter-mappings/55"
	if got := call(t, labSession, "GET", path, ""); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	if err := stack.Kill("cellcounter"); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < outage; {
		if got := call(t, labSession, "GET", path, ""); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
			t.Fatalf("while it is stopped: got %d %v %s", got.status, got.header, got.body)
		}
		<-time.After(time.Second)
	}
	if err := stack.Start("cellcounter", nil); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	await.True(t, "the first answer", func() bool { return call(t, labSession, "GET", path, "").status == http.StatusOK })
	if took := time.Since(back); took > 10*time.Second {
		t.Errorf("reached %v after its start", took)
	}
}

// Two thousand silent connections must not prevent responses to others, and are closed.
func TestIdleConnectionsAreClosedAndStopNobody(t *testing.T) {
	t.Parallel()
	const connections = 2000
	for name, base := range map[string]string{"public": stack.Endpoints.Gateway, "internal": stack.Endpoints.GatewayInternal} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		idle := make([]net.Conn, connections)
		for i := range idle {
			if idle[i], err = net.Dial("tcp", u.Host); err != nil {
				t.Fatalf("%s: connection %d: %v", name, i, err)
			}
			defer idle[i].Close()
		}
		for range 20 {
			if got := call(t, labSession, "GET", "/api-v3/cell-counter-mappings/55", ""); got.status != http.StatusOK {
				t.Errorf("beside %d idle connections to %s: %d %s", connections, name, got.status, got.body)
			}
		}
		opened := time.Now()
		for i, conn := range idle {
			if err := conn.SetReadDeadline(opened.Add(cutAfter)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); err != nil {
				t.Fatalf("%s: connection %d is still open: %v", name, i, err)
			}
		}
	}
}
