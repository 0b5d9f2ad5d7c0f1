package areas_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
)

// senders is the number of concurrent connections per path.
const senders = 8

// closedWithin is the two seconds in which a server reads the rest of a refused body, and time for a busy machine.
const closedWithin = 4 * time.Second

var parameter = regexp.MustCompile(`{[^}]*}`)

// stranger is a kind of caller that every path refuses, and the expected response.
type stranger struct {
	name, header string
	refusal      error // error that the services return
	status       int
	handler      func(*edge.Edge) http.Handler
}

// TestStrangersCostNothing opens connections of callers whom the services or the listener refuse, on every path of the
// contracts. Each must be refused before its body is read, be closed within seconds, and cost less than 1 MiB. With -v
// the test prints a table.
func TestStrangersCostNothing(t *testing.T) {
	unknown := apperr.New(apperr.Unauthenticated, "UNAUTHENTICATED", "Log in")
	forbidden := apperr.New(apperr.Forbidden, "FORBIDDEN", "Ask for the permission")
	for _, s := range []stranger{
		{"anonymous", "", unknown, http.StatusUnauthorized, (*edge.Edge).Public},
		{"refused", "Authorization: Bearer x\r\n", forbidden, http.StatusForbidden, (*edge.Edge).Public},
		{"anonymous among services", "", unknown, http.StatusUnauthorized, (*edge.Edge).Internal},
	} {
		t.Run(s.name, func(t *testing.T) {
			server := httptest.NewServer(s.handler(newEdge(t, &backend{err: s.refusal})))
			defer server.Close()
			var open sync.WaitGroup
			paths := everyPath()
			for _, path := range paths {
				status := s.status
				if s.name != "anonymous among services" && internalOnly(path) {
					status = http.StatusNotFound
				}
				s.hold(t, &open, server.Listener.Addr().String(), path, status)
			}
			open.Wait()
			if len(paths) < 60 {
				t.Errorf("%d paths, want at least 60", len(paths))
			}
		})
	}
}

// everyPath returns method and path of each route, without duplicates.
func everyPath() (paths []string) {
	for _, route := range edge.Routes(areas.List()) {
		paths = append(paths, route.Method+" "+parameter.ReplaceAllString(route.Path, "1"))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func internalOnly(path string) bool {
	return slices.ContainsFunc(areas.List(), func(a *edge.Area) bool {
		return a.InternalSuffix != "" && strings.HasSuffix(path, a.InternalSuffix)
	})
}

// hold opens the connections of one path, and fails the test if they cost too much memory while all of them wait for
// the end of their body. The connections close while the next path is tested.
func (s *stranger) hold(t *testing.T, open *sync.WaitGroup, address, path string, status int) {
	t.Helper()
	before := memory()
	var answered sync.WaitGroup
	for range senders {
		answered.Add(1)
		done := sync.OnceFunc(answered.Done)
		open.Go(func() {
			defer done()
			s.send(t, address, path, status, done)
		})
	}
	answered.Wait()
	after := memory()
	grown := (int64(after) - int64(before)) >> 10
	t.Logf("%6d KiB for %d senders: %s", grown, senders, path)
	if grown > senders<<10 {
		t.Errorf("%s: %d KiB more for %d senders, want at most %d", path, grown, senders, senders<<10)
	}
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// send sends the beginning of a large body, reads the response, and waits until the server closes the connection.
func (s *stranger) send(t *testing.T, address, path string, status int, answered func()) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: a\r\n%sContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: 1000000\r\n\r\n--xx\r\nX-A: ",
		path, s.header)
	_, _ = connection.Write([]byte(strings.Repeat("A", 60<<10)))
	began := time.Now()
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Errorf("%s: %v, want %d", path, err, status)
		return
	}
	if response.StatusCode != status {
		t.Errorf("%s: %d, want %d", path, response.StatusCode, status)
	}
	answered()
	for err == nil {
		_, err = reader.Discard(1)
	}
	if took := time.Since(began); took > closedWithin {
		t.Errorf("%s: the connection lived %v, want at most %v", path, took, closedWithin)
	}
}
