package areas_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
)

// senders is how many connections each path gets at once.
const senders = 8

var parameter = regexp.MustCompile(`{[^}]*}`)

// TestStrangersCostNothing holds connections of callers that the service refuses on every path with a body: each is
// refused before its body is read, is closed within seconds, and costs less than 1 MiB.
func TestStrangersCostNothing(t *testing.T) {
	b := &backend{err: apperr.New(apperr.Unauthenticated, "UNAUTHENTICATED", "Log in")}
	server := httptest.NewServer(newEdge(t, b).Public())
	defer server.Close()
	seen := map[string]bool{}
	for _, route := range edge.Routes(areas.List()) {
		path := parameter.ReplaceAllString(route.Path, "1")
		name := route.Method + " " + path
		if route.Method == http.MethodGet || strings.HasSuffix(path, "/critical/evaluate") || strings.HasSuffix(path, "/topic/notify") || seen[name] {
			continue // no body, or refused on this listener
		}
		seen[name] = true
		before := memory()
		var all sync.WaitGroup
		grown := make(chan uint64, senders)
		for range senders {
			all.Go(func() { grown <- stranger(t, server.Listener.Addr().String(), route.Method, path) })
		}
		all.Wait()
		close(grown)
		most := uint64(0)
		for g := range grown {
			most = max(most, g)
		}
		if most > before+senders<<20 {
			t.Errorf("%s: %d KiB more for %d senders, want at most %d", name, (most-before)>>10, senders, senders<<10)
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d paths with a body, want at least 30", len(seen))
	}
	t.Logf("%d paths, %d senders each", len(seen), senders)
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// stranger sends the beginning of a body without credentials and returns the memory of the process while it waits.
func stranger(t *testing.T, address, method, path string) uint64 {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: 1000000\r\n\r\n--xx\r\nX-A: ", method, path)
	_, _ = connection.Write([]byte(strings.Repeat("A", 60<<10)))
	began := time.Now()
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Errorf("%s %s: %v, want 401", method, path, err)
		return 0
	}
	used := memory()
	if response.StatusCode != http.StatusUnauthorized || time.Since(began) > 3*time.Second {
		t.Errorf("%s %s: %d after %v, want 401 within 3 s", method, path, response.StatusCode, time.Since(began))
	}
	for err == nil {
		_, err = reader.Discard(1)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("%s %s: the connection lived %v, want at most 6 s", method, path, took)
	}
	return used
}
