package netguard_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// dropper starts a server that responds to the first request of each connection and closes the connection after reading
// the second.
func dropper(t *testing.T) (address string, requests *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	requests = &atomic.Int64{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveOnce(conn, requests)
		}
	}()
	return l.Addr().String(), requests
}

func serveOnce(conn net.Conn, requests *atomic.Int64) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for n := range 2 {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		requests.Add(1)
		if n == 0 {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
}

func TestRequestIsNotRepeatedWhenAKeptConnectionCloses(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		for _, body := range []string{"", `{"a":1}`} {
			t.Run(method+body, func(t *testing.T) {
				t.Parallel()
				address, requests := dropper(t)
				client := netguard.New(netguard.Config{AllowedHosts: []string{"127.0.0.1"}})
				defer client.Close()
				q := netguard.Request{Method: method, URL: &url.URL{Scheme: "http", Host: address, Path: "/"}, Body: []byte(body),
					Header: http.Header{"Idempotency-Key": {"one"}}, Timeout: 5 * time.Second}
				if _, err := client.Do(t.Context(), q); err != nil {
					t.Fatal(err)
				}
				if _, err := client.Do(t.Context(), q); !errors.Is(err, netguard.ErrUnanswered) {
					t.Errorf("second request: error = %v, want ErrUnanswered", err)
				}
				if got := requests.Load(); got != 2 {
					t.Errorf("requests received = %d, want 2", got)
				}
			})
		}
	}
}

func TestRefusedConnectionIsNotErrUnanswered(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	client := netguard.New(netguard.Config{AllowedHosts: []string{"127.0.0.1"}})
	_, err = client.Do(t.Context(), netguard.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: l.Addr().String()},
		Body: []byte("{}"), Timeout: 5 * time.Second})
	if err == nil || errors.Is(err, netguard.ErrUnanswered) {
		t.Errorf("error = %v, want one other than ErrUnanswered", err)
	}
}
