package httpserver_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

const fileBytes = 8 << 20

// download reads a file from a paced handler in parts of 64 KiB with a pause after each. After limit bytes it stops
// reading for an hour.
func download(t *testing.T, pause time.Duration, limit int) (got int, took time.Duration) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(httpserver.PacedResponse(w), r, "report.pdf", time.Time{}, bytes.NewReader(make([]byte, fileBytes)))
	})
	listener := newPipes()
	ctx, stop := context.WithCancel(t.Context())
	var server sync.WaitGroup
	server.Go(func() { _ = httpserver.Server{Handler: handler}.Serve(ctx, listener) })
	client, end := net.Pipe()
	listener.connections <- end
	begin := time.Now()
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 64<<10)
	for got < limit {
		n, err := io.ReadFull(client, part)
		if got += n; err != nil {
			break
		}
		time.Sleep(pause)
	}
	if got >= limit {
		time.Sleep(time.Hour) // the reader has stopped
		n, _ := io.Copy(io.Discard, client)
		got += int(n)
	}
	took = time.Since(begin)
	client.Close()
	stop()
	server.Wait()
	return got, took
}

func TestSlowDownloadCompletesAndAStalledReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if got, took := download(t, 2*time.Second, 2*fileBytes); got < fileBytes || took < 2*time.Minute {
			t.Errorf("slow download: %d of %d bytes after %v, want the whole file after at least 2m", got, fileBytes, took)
		}
		if got, _ := download(t, 0, 1<<20); got >= fileBytes {
			t.Errorf("stalled download: %d bytes, want fewer than the file's %d", got, fileBytes)
		}
	})
}
