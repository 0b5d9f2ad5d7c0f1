package edge_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/edge"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	"github.com/labplatform/labplatform/pkg/telemetry"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// feed is a service that streams the events of a test.
type feed struct {
	events chan *typev1.Event
	err    error
	greets bool // the first event of each stream is sent immediately

	mu     sync.Mutex
	md     metadata.MD       // guarded by mu
	params map[string]string // guarded by mu
}

func (f *feed) open(ctx context.Context, _ grpc.ClientConnInterface, _ *http.Request, params map[string]string) (func() (*typev1.Event, error), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.md, _ = metadata.FromOutgoingContext(ctx)
	f.params = params
	greeted := !f.greets
	return func() (*typev1.Event, error) {
		if !greeted {
			greeted = true
			return &typev1.Event{}, nil
		}
		if f.err != nil {
			return nil, rpcerr.ToStatus(f.err).Err()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case e, ok := <-f.events:
			if !ok {
				return nil, io.EOF
			}
			return e, nil
		}
	}, nil
}

func streaming(t *testing.T, f *feed) http.Handler {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	area := &edge.Area{
		Name: "live", Title: "Live", Prefixes: []string{"/live"}, Shape: httpserver.Envelope, Deadline: time.Second,
		Streams:  []edge.Stream{{Route: edge.Route{Method: http.MethodGet, Path: "/live/{id}/events", RPC: "/lab.live.v1.Live/Watch"}, Open: f.open}},
		Register: func(context.Context, *edge.Mux, grpc.ClientConnInterface) error { return nil },
	}
	e, err := edge.New(t.Context(), edge.Deps{Telemetry: tel, Areas: []*edge.Area{area}, Connections: map[string]grpc.ClientConnInterface{"live": backend{}}})
	if err != nil {
		t.Fatal(err)
	}
	return e.Public()
}

func TestEventsArriveOneByOneAsServerSentEvents(t *testing.T) {
	t.Parallel()
	f := &feed{events: make(chan *typev1.Event)}
	server := httptest.NewServer(streaming(t, f))
	defer server.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live/7/events/", nil)
	request.Header.Set("Last-Event-ID", "41")
	request.Header.Set("Cookie", "sessionid=asha")
	go func() { f.events <- &typev1.Event{} }()
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("response = %d %v, want 200, text/event-stream and no-store", response.StatusCode, response.Header)
	}
	lines := bufio.NewReader(response.Body)
	expect := func(want string) {
		t.Helper()
		var got strings.Builder
		for !strings.HasSuffix(got.String(), "\n\n") {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("read: %v after %q", err, got.String())
			}
			got.WriteString(line)
		}
		if got.String() != want {
			t.Errorf("got %q, want %q", got.String(), want)
		}
	}
	expect(":\n\n")
	f.events <- &typev1.Event{Id: "42", Event: "saved", Data: `{"a":1}`}
	expect("id: 42\nevent: saved\ndata: {\"a\":1}\n\n")
	f.events <- &typev1.Event{Id: "4\n3", Event: "x\r\nid: 1", Data: "one\r\ntwo\rid: 9\n"}
	expect("id: 43\nevent: xid: 1\ndata: one\ndata: two\ndata: id: 9\ndata: \n\n")
	close(f.events)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Errorf("after the last event: %q, error %v, want a clean end", rest, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.params["id"] != "7" || f.md.Get("last-event-id")[0] != "41" || f.md.Get("cookie")[0] != "sessionid=asha" {
		t.Errorf("params = %v, metadata = %v, want id 7, last-event-id 41 and the cookie", f.params, f.md)
	}
}

func TestRefusedStreamHasTheAreasStatusAndErrorBody(t *testing.T) {
	t.Parallel()
	f := &feed{err: apperr.New(apperr.Unauthenticated, "SESSION_EXPIRED", "Log in again.")}
	recorder := httptest.NewRecorder()
	streaming(t, f).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live/7/events", nil))
	if recorder.Code != 401 || !strings.Contains(recorder.Body.String(), `{"code":401,"message":"Log in again."`) {
		t.Errorf("response = %d %s, want 401 with the service's message", recorder.Code, recorder.Body)
	}
}

func TestQuietStreamSendsHeartbeatsUntilItsReaderDisconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{events: make(chan *typev1.Event)}
		ctx, leave := context.WithTimeout(t.Context(), 50*time.Second)
		defer leave()
		recorder := httptest.NewRecorder()
		begin := time.Now()
		streaming(t, f).ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/live/7/events", nil))
		// The headers follow after 3 s without an event, then a heartbeat every 15 s.
		if got := recorder.Body.String(); got != strings.Repeat(":\n\n", 4) || time.Since(begin) != 50*time.Second {
			t.Errorf("body = %q after %v, want four comments within 50s", got, time.Since(begin))
		}
	})
}

func TestStreamEndsWhenTheServerStops(t *testing.T) {
	t.Parallel()
	f := &feed{events: make(chan *typev1.Event, 1)}
	f.events <- &typev1.Event{}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- httpserver.Server{Handler: streaming(t, f)}.Serve(ctx, listener) }()
	response, err := http.Get("http://" + listener.Addr().String() + "/live/7/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stop()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != ":\n\n" {
		t.Errorf("body = %q, error %v, want one comment and a clean end", body, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestPanicInAPartialResponseBreaksTheConnection(t *testing.T) {
	t.Parallel()
	page := edge.Page{
		Route: "/page", Matches: func(path string) bool { return path == "/page" },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half of it")
			_ = http.NewResponseController(w).Flush()
			panic("the other half")
		}),
	}
	tel, err := telemetry.Start(t.Context(), "gateway", "test", telemetry.Config{Environment: "dev"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	e, err := edge.New(t.Context(), edge.Deps{Telemetry: tel, Pages: []edge.Page{page}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e.Public())
	defer server.Close()
	response, err := server.Client().Get(server.URL + "/page")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("partial response %q ended without an error", body)
	}
}

// TestOneLoginHasAtMostTwentyStreams checks that the next stream is refused, even with an additional cookie, that other
// logins are unaffected, and that closing a stream makes room.
func TestOneLoginHasAtMostTwentyStreams(t *testing.T) {
	t.Parallel()
	f := &feed{events: make(chan *typev1.Event), greets: true}
	server := httptest.NewServer(streaming(t, f))
	defer server.Close()
	open := func(login string) *http.Response {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live/7/events", nil)
		request.Header.Set("Cookie", "sessionid="+login)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	var all []*http.Response
	for i := range 20 {
		response := open("asha")
		if all = append(all, response); response.StatusCode != 200 {
			t.Fatalf("stream %d: %d, want 200", i+1, response.StatusCode)
		}
	}
	for login, want := range map[string]int{"asha": 429, "asha; theme=dark": 429, "ravi": 200} {
		response := open(login)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("another stream of %s: %d, want %d", login, response.StatusCode, want)
		}
	}
	all[0].Body.Close()
	await.True(t, "a stream after one was closed", func() bool {
		response := open("asha")
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	for _, response := range all[1:] {
		response.Body.Close()
	}
}
