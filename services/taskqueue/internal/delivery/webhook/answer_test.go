package webhook_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// receiverOf starts a receiver. It responds with the bytes in replies for the path and closes the connection. For an
// empty reply, it closes the connection after reading the request.
func receiverOf(t *testing.T, replies map[string]string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				answerRaw(conn, replies)
			}
		}
	}()
	return "http://" + listener.Addr().String()
}

func answerRaw(conn net.Conn, replies map[string]string) {
	defer func() { _ = conn.Close() }()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		return
	}
	_, _ = io.Copy(io.Discard, request.Body)
	_, _ = io.WriteString(conn, replies[request.URL.Path])
}

// TestTheStatusDecidesWhateverBecomesOfTheBody checks that the status line determines the result, whatever happens to
// the body.
func TestTheStatusDecidesWhateverBecomesOfTheBody(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", 60)
	url := receiverOf(t, map[string]string{
		"/short":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: text/plain\r\n\r\n8 bytes!",
		"/nothing": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
		"/chunks":  "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nzz not a chunk",
		"/headers": "HTTP/1.1 200 OK\r\n" + long + "Content-Length: 0\r\n\r\n",
		"/gone":    "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nno",
		"/broken":  "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nno",
	})
	for path, want := range map[string]struct {
		status int
		reason string
	}{"/short": {200, ""}, "/nothing": {200, ""}, "/chunks": {202, ""}, "/headers": {200, ""}, "/gone": {404, "http_4xx"}, "/broken": {503, "http_5xx"}} {
		b := newFixture(t, false, nil)
		result, err := b.send(task.WebhookPost, map[string]any{"url": url + path}, nil)
		reason := ""
		if err != nil {
			reason = job.AsFailure(err).Reason
		}
		if result.HTTPStatus != want.status || reason != want.reason {
			t.Errorf("%s: %d %q (%v), want %d %q", path, result.HTTPStatus, reason, err, want.status, want.reason)
		}
	}
}

// TestWhyThereIsNoAnswerIsToldApart checks that the reason of a failed webhook shows whether the address, the
// certificate or the receiver's program is at fault.
func TestWhyThereIsNoAnswerIsToldApart(t *testing.T) {
	t.Parallel()
	listening := receiverOf(t, map[string]string{"/closes": "", "/speaks": "SSH-2.0-OpenSSH_9.2\r\n",
		"/lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"})
	for name, c := range map[string]struct{ url, reason, says string }{
		"closes":         {listening + "/closes", "no_answer", "closed the connection after the request"},
		"is no HTTP":     {listening + "/speaks", "no_answer", "not valid HTTP"},
		"contradicts":    {listening + "/lengths", "no_answer", "not valid HTTP"},
		"is unencrypted": {strings.Replace(listening, "http:", "https:", 1) + "/x", "tls", "encryption"},
		"is no host":     {"http://127.0.0.1:1/", "network", "refuses the connection"},
	} {
		b := newFixture(t, false, nil)
		_, err := b.send(task.WebhookPost, map[string]any{"url": c.url}, nil)
		failure := job.AsFailure(err)
		if err == nil || failure.Reason != c.reason || !strings.Contains(failure.Message, c.says) || failure.Permanent {
			t.Errorf("%s: %+v, want %s: %s", name, failure, c.reason, c.says)
		}
	}
}
