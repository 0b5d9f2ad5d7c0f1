package httpserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

// slowly sends 4 KiB per second until the connection ends.
func slowly(conn net.Conn) {
	for {
		if _, err := io.WriteString(conn, strings.Repeat("x", 4<<10)); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

func TestUnfinishedUploadGetsAResponseWhenTheProcessStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			httpserver.Paced(w, r)
			httpserver.SetWriteTimeout(w, 0)
			_, err := io.Copy(io.Discard, r.Body)
			if err != nil && errors.Is(context.Cause(r.Context()), httpserver.ErrStopping) {
				http.Error(w, "send it again", http.StatusServiceUnavailable)
			}
		})
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- httpserver.Server{Handler: handler}.Serve(ctx, listener) }()
		client, server := net.Pipe()
		listener.connections <- server
		var sender sync.WaitGroup
		defer sender.Wait() // virtual time stands still once the test has returned, and a sleeping sender would never end
		sender.Go(func() {
			_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
			slowly(client)
		})
		time.AfterFunc(time.Minute, stop)
		begin := time.Now()
		response, _ := io.ReadAll(client)
		client.Close()
		if took := time.Since(begin) - time.Minute; took < 12*time.Second || took > 15*time.Second {
			t.Errorf("upload ended %v after the stop, want 12s to 15s", took)
		}
		if !strings.Contains(string(response), " 503 ") || !strings.Contains(string(response), "send it again") {
			t.Errorf("response = %q, want 503 with the handler's text", response)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
