package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/httpserver"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

const (
	// heartbeatEvery keeps proxies from closing a quiet stream and finds readers that went away.
	heartbeatEvery = 15 * time.Second
	// admission is how long the headers wait for the service's first word, so that a refusal keeps its status.
	admission = 3 * time.Second
	// eventWriteTimeout is how long one event may wait for a reader that does not read.
	eventWriteTimeout = 15 * time.Second
)

// Stream is a GET path that answers with server-sent events, one per message of a server-streaming RPC. It has no
// deadline: it ends with the RPC, when the reader goes, or when the process drains.
type Stream struct {
	Route
	// Open calls the RPC over the connection and returns what receives its next event. Its context carries the
	// caller's credentials and, as metadata last-event-id, where the reader was. The service sends an Event
	// without fields as soon as it admits the caller: the reader then knows that it is connected.
	Open func(ctx context.Context, c grpc.ClientConnInterface, r *http.Request, params map[string]string) (
		recv func() (*typev1.Event, error), err error)
}

type received struct {
	event *typev1.Event
	err   error
}

// handleStream adds the path of s to the mux.
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

// receive passes on what recv returns until it fails or ctx ends.
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

// admitted waits for the first event or refusal; a service that says nothing for a while has admitted the caller.
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

// eventWriter writes the text/event-stream format and sends each event at once.
type eventWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w eventWriter) start(first *typev1.Event) error {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // nginx would collect events
	w.WriteHeader(http.StatusOK)
	return w.send(format(first))
}

// copy sends events, and a heartbeat when there is none for a while, until one side ends. An error in the middle
// ends the stream: the reader connects again and gets the error as the status of that answer.
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

// lineEnds are what the format takes as the end of a line: a value that holds one would start a field of its own.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

var noLineEnds = strings.NewReplacer("\r", "", "\n", "", "\x00", "")

// format writes one event; nil and events without fields are a comment, which readers skip.
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
	if e.GetEvent() != "" || e.GetData() != "" { // else it tells the reader its position alone, and no listener is called
		for line := range strings.SplitSeq(lineEnds.Replace(e.GetData()), "\n") {
			fmt.Fprintf(&b, "data: %s\n", line)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}
