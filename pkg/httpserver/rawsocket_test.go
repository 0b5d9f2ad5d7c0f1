package httpserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// pipes is a listener with in-memory connections, whose deadlines follow virtual time.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, errors.New("listener is closed")
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// converse sends parts with a pause after each. It returns the bytes that the server sent until it closed the
// connection, and how long the connection was open.
func converse(t *testing.T, handler http.Handler, pause time.Duration, parts []string) (response string, open time.Duration) {
	t.Helper()
	listener := newPipes()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- httpserver.Server{Handler: handler}.Serve(ctx, listener) }()
	client, server := net.Pipe()
	listener.connections <- server
	begin := time.Now()
	go func() {
		for _, part := range parts {
			if _, err := io.WriteString(client, part); err != nil {
				return // the server has closed the connection
			}
			if lifecycle.Pause(ctx, pause) != nil {
				return
			}
		}
	}()
	raw, _ := io.ReadAll(client)
	open = time.Since(begin)
	client.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return string(raw), open
}

var statusLine = regexp.MustCompile(`HTTP/1\.[01] (\d{3})`)

// drip returns head and then n parts of one byte.
func drip(head string, n int) []string {
	parts := []string{head}
	for range n {
		parts = append(parts, "x")
	}
	return parts
}

func TestResponsesToRawSockets(t *testing.T) {
	t.Parallel()
	echo := http.NewServeMux()
	echo.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "too slow", http.StatusRequestTimeout)
			return
		}
		_, _ = w.Write(append([]byte("got "), body...))
	})
	echo.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		httpserver.Paced(w, r)
		httpserver.SetWriteTimeout(w, 0)
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			http.Error(w, "too slow", http.StatusRequestTimeout)
			return
		}
		http.Error(w, strings.Repeat("i", int(n>>20)), http.StatusOK) // one letter per MiB
	})
	echo.HandleFunc("POST /refused", func(w http.ResponseWriter, r *http.Request) {
		httpserver.Paced(w, r)
		w.WriteHeader(http.StatusForbidden)
	})
	echo.HandleFunc("POST /skipped", func(w http.ResponseWriter, _ *http.Request) {
		httpserver.SkipBody(w)
		w.WriteHeader(http.StatusForbidden)
	})
	echo.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(40 * time.Second):
			_, _ = io.WriteString(w, "done")
		}
	})
	admin := httpserver.Admin(httpserver.Config{}, httpserver.NewHealth(quiet()), prometheus.NewRegistry())

	const post = "POST /echo HTTP/1.1\r\nHost: h\r\n"
	const closing = "Connection: close\r\n"
	chunk := strings.Repeat("x", 64<<10)
	tests := map[string]struct {
		handler http.Handler
		pause   time.Duration
		parts   []string
		want    string        // the statuses of the responses, in order
		body    string        // substring of the last response
		within  time.Duration // time until the connection is closed; zero: at once
	}{
		"a request":                          {echo, 0, []string{post + closing + "Content-Length: 2\r\n\r\nab"}, "200", "got ab", 0},
		"a length and chunks":                {echo, 0, []string{post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"}, "200", "got ", 0},
		"chunks before HTTP/1.1":             {echo, 0, []string{"POST /echo HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"}, "200", "", 0},
		"two lengths that differ":            {echo, 0, []string{post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"}, "400", "", 0},
		"a length that is no number":         {echo, 0, []string{post + "Content-Length: +2\r\n\r\nab"}, "400", "", 0},
		"an unknown coding":                  {echo, 0, []string{post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"}, "501", "", 0},
		"chunks before HTTP/1.1, kept alive": {echo, 0, []string{"POST /echo HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"}, "200", "", 0},
		"two codings":                        {echo, 0, []string{post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"}, "501", "", 0},
		"an invalid chunk size":              {echo, 0, []string{post + "Transfer-Encoding: chunked\r\n\r\n-1\r\nab\r\n0\r\n\r\n"}, "408", "", 0},
		"a space before the colon":           {echo, 0, []string{post + "Content-Length : 2\r\n\r\nab"}, "400", "", 0},
		"a folded header":                    {echo, 0, []string{post + closing + "X-A: 1\r\n Content-Length: 9\r\nContent-Length: 2\r\n\r\nab"}, "200", "got ab", 0},
		"a folded length":                    {echo, 0, []string{post + closing + "Content-Length:\r\n 2\r\n\r\nab"}, "200", "got ab", 0},
		"NUL in a header":                    {echo, 0, []string{post + "X-A: a\x00b\r\n\r\n"}, "400", "", 0},
		"two hosts":                          {echo, 0, []string{post + "Host: i\r\n\r\n"}, "400", "", 0},
		"headers of 128 KiB":                 {echo, 0, []string{post + "X-A: " + strings.Repeat("a", 128<<10) + "\r\n\r\n"}, "431", "", 0},
		"headers of 60 KiB":                  {echo, 0, []string{post + closing + "X-A: " + strings.Repeat("a", 60<<10) + "\r\n\r\n"}, "200", "got ", 0},
		"slow headers":                       {echo, time.Second, drip(post+"X-A: ", 30), "", "", 6 * time.Second},
		"no request at all":                  {echo, time.Hour, []string{""}, "", "", 6 * time.Second},
		"a slow body":                        {echo, 16 * time.Second, drip(post+"Content-Length: 9\r\n\r\n", 9), "408", "", 15 * time.Second},
		"slow chunks":                        {echo, 3 * time.Second, []string{post + "Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", "1\r\na\r\n", "1\r\na\r\n", "1\r\na\r\n", "1\r\na\r\n"}, "408", "", 15 * time.Second},
		"a slow body no one reads":           {echo, 16 * time.Second, drip("POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", 9), "404", "", 15 * time.Second},
		"the same on the admin listener":     {admin, 16 * time.Second, drip("POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", 9), "404", "", 15 * time.Second},
		"the same with GET":                  {admin, 16 * time.Second, drip("GET /health/live HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", 9), "200", "", 15 * time.Second},
		"two requests at once":               {echo, 0, []string{post + "Content-Length: 1\r\n\r\na" + post + closing + "Content-Length: 1\r\n\r\nb"}, "200 200", "got b", 0},
		"rubbish after a request":            {echo, 0, []string{post + "Content-Length: 1\r\n\r\naRUBBISH\r\n\r\n"}, "200 400", "", 0},
		"a slow response":                    {echo, time.Hour, []string{"GET /slow HTTP/1.1\r\nHost: h\r\n" + closing + "\r\n"}, "200", "done", 41 * time.Second},
		"a slow response after a body":       {echo, time.Hour, []string{post + "Content-Length: 1\r\n\r\naGET /slow HTTP/1.1\r\nHost: h\r\n" + closing + "\r\n"}, "200 200", "done", 41 * time.Second},
		"an idle connection":                 {echo, time.Hour, []string{post + "Content-Length: 1\r\n\r\na"}, "200", "got a", 121 * time.Second},
		"an upload of 8 MiB in 21 minutes":   {echo, 10 * time.Second, upload(chunk, 128), "200", "iiiiiiii", 22 * time.Minute},
		"an upload that no one reads":        {echo, 16 * time.Second, drip("POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", 9), "403", "", 13 * time.Second},
		"a body that is skipped":             {echo, 16 * time.Second, drip("POST /skipped HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n", 9), "403", "", 4 * time.Second},
		"an upload of 64 KiB in a minute":    {echo, 31 * time.Second, upload(chunk[:1<<10], 64), "408", "", 32 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				response, open := converse(t, test.handler, test.pause, test.parts)
				var codes []string
				for _, found := range statusLine.FindAllStringSubmatch(response, -1) {
					codes = append(codes, found[1])
				}
				if strings.Join(codes, " ") != test.want || !strings.Contains(response, test.body) {
					t.Errorf("statuses = %q, want %q and %q in\n%s", codes, test.want, test.body, response)
				}
				if limit := max(test.within, time.Second); open > limit {
					t.Errorf("connection open for %v, want at most %v", open, limit)
				}
			})
		})
	}
}

func upload(chunk string, n int) []string {
	parts := []string{"POST /upload HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"}
	size := map[int]string{64 << 10: "10000", 1 << 10: "400"}[len(chunk)]
	for range n {
		parts = append(parts, size+"\r\n"+chunk+"\r\n")
	}
	return append(parts, "0\r\n\r\n")
}
