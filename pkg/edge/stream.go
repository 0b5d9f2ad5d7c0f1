package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/httpserver"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

const (
	// heartbeatEvery is the interval of heartbeats. They keep proxies from closing a quiet stream and detect readers that
	// have disconnected.
	heartbeatEvery = 15 * time.Second
	// admission is the maximum wait for the service's first event before the headers are sent, so that a refusal keeps its
	// status.
	admission = 3 * time.Second
	// eventWriteTimeout limits the time to write one event to a slow reader.
	eventWriteTimeout = 15 * time.Second
)

// Stream is a GET path that responds with server-sent events, one per message of a server-streaming RPC. It has no
// deadline: it ends with the RPC, when the reader disconnects, or when the process drains.
type Stream struct {
	Route
	// Open calls the RPC over the connection and returns a function that receives its next event. ctx carries the caller's
	// credentials and, as metadata last-event-id, the reader's position. The service must send an Event without fields as
	// soon as it admits the caller, so that the reader knows that it is connected.
	Open func(ctx context.Context, c grpc.ClientConnInterface, r *http.Request, params map[string]string) (
		recv func() (*typev1.Event, error), err error)
}

// maxStreams is how many event streams one login may have open at this process, in all areas together.
const maxStreams = 20

var errTooManyStreams = apperr.New(apperr.TooManyRequests, "TOO_MANY_STREAMS",
	"This login has 20 event streams open already. Close a page that follows one, then reload.").WithRetryAfter(5 * time.Second)

// openStreams counts the event streams of each login. Logins are kept as hashes.
type openStreams struct {
	seed maphash.Seed
	mu   sync.Mutex
	open map[uint64]int // guarded by mu
}

func newOpenStreams() *openStreams {
	return &openStreams{seed: maphash.MakeSeed(), open: map[uint64]int{}}
}

// enter counts a stream until leave is called; ok is false if the login already has maxStreams open streams.
func (s *openStreams) enter(r *http.Request) (leave func(), ok bool) {
	credential := r.Header.Get("Authorization") // a cookie beside the header is ignored
	if credential == "" {
		credential = authn.SessionID(r.Header.Get("Cookie")) // other cookies are ignored
	}
	login := maphash.String(s.seed, credential)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[login] >= maxStreams {
		return nil, false
	}
	s.open[login]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[login]--; s.open[login] == 0 {
			delete(s.open, login)
		}
	}, true
}

type received struct {
	event *typev1.Event
	err   error
}

func (m *Mux) handleStream(s Stream, c grpc.ClientConnInterface) error {
	return m.HandlePath(s.Method, s.Path, func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		ctx, err := runtime.AnnotateContext(ctx, m.ServeMux, r, s.RPC, runtime.WithHTTPPathPattern(s.Path))
		if err != nil {
			m.handleError(r.Context(), m.ServeMux, codec{}, w, r, err)
			return
		}
		noteRoute(ctx)
		leave, ok := m.streams.enter(r)
		if !ok {
			httpserver.WriteError(w, m.area.Shape, errTooManyStreams)
			return
		}
		defer leave()
		recv, err := s.Open(ctx, c, r, params)
		if err != nil {
			m.handleError(ctx, m.ServeMux, codec{}, w, r, err)
			return
		}
		events := make(chan received)
		go receive(ctx, recv, events)
		first, err := admitted(ctx, events)
		if err != nil && !errors.Is(err, io.EOF) {
			m.handleError(ctx, m.ServeMux, codec{}, w, r, err)
			return
		}
		out := eventWriter{w, http.NewResponseController(w)}
		if out.start(first) == nil && err == nil {
			out.copy(ctx, events)
		}
	})
}

// receive sends what recv returns to events until ctx ends.
func receive(ctx context.Context, recv func() (*typev1.Event, error), events chan<- received) {
	for {
		event, err := recv()
		select {
		case events <- received{event, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// admitted waits for the first event or a refusal. A service that sends nothing within the admission time has admitted
// the caller.
func admitted(ctx context.Context, events <-chan received) (*typev1.Event, error) {
	quiet := time.NewTimer(admission)
	defer quiet.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-quiet.C:
		return nil, nil
	case first := <-events:
		return first.event, first.err
	}
}

// eventWriter writes the text/event-stream format and flushes after each event.
type eventWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w eventWriter) start(first *typev1.Event) error {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // keeps nginx from buffering events
	w.WriteHeader(http.StatusOK)
	return w.send(format(first))
}

// copy sends events, with a heartbeat after each quiet interval, until the reader or the stream ends. An error of the
// RPC ends the stream; the reader reconnects and gets the error as that response's status.
func (w eventWriter) copy(ctx context.Context, events <-chan received) {
	heartbeat := time.NewTimer(heartbeatEvery)
	defer heartbeat.Stop()
	for {
		next := format(nil)
		select {
		case <-ctx.Done():
			return
		case <-httpserver.Stopping(ctx):
			return
		case got := <-events:
			if got.err != nil {
				return
			}
			next = format(got.event)
		case <-heartbeat.C:
		}
		if w.send(next) != nil {
			return
		}
		heartbeat.Reset(heartbeatEvery)
	}
}

func (w eventWriter) send(text []byte) error {
	err := w.control.SetWriteDeadline(time.Now().Add(eventWriteTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := w.control.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}

// lineEnds normalizes the line breaks of the format: a value with a raw line break would start a field of its own.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

var noLineEnds = strings.NewReplacer("\r", "", "\n", "", "\x00", "")

// format returns the text of one event. A nil event, or one without fields, becomes a comment, which readers skip.
func format(e *typev1.Event) []byte {
	if e.GetId() == "" && e.GetEvent() == "" && e.GetData() == "" {
		return []byte(":\n\n")
	}
	var b bytes.Buffer
	if e.GetId() != "" {
		fmt.Fprintf(&b, "id: %s\n", noLineEnds.Replace(e.GetId()))
	}
	if e.GetEvent() != "" {
		fmt.Fprintf(&b, "event: %s\n", noLineEnds.Replace(e.GetEvent()))
	}
	if e.GetEvent() != "" || e.GetData() != "" { // an id alone gets no data line, so that no listener runs
		for line := range strings.SplitSeq(lineEnds.Replace(e.GetData()), "\n") {
			fmt.Fprintf(&b, "data: %s\n", line)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}
