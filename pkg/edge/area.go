package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

// DefaultDeadline is for areas whose calls are neither quick nor long.
const DefaultDeadline = 10 * time.Second

// Area is one service behind an edge: which paths it answers, in which error body, and within which time.
type Area struct {
	Name     string // the service, also the audience of tokens
	Title    string // for people
	Prefixes []string
	Shape    httpserver.Shape
	Deadline time.Duration
	// MaxAnswerBytes is the largest answer of the service; zero: gRPC's 4 MiB.
	MaxAnswerBytes int
	// InternalSuffix ends the routes that the public listener does not have; "": none.
	InternalSuffix string
	// Uploads are paths beside the contracts' own, with limits of their own.
	Uploads []Upload
	// Streams are paths that answer with server-sent events.
	Streams []Stream
	// Register adds the paths to the mux, answered over the connection.
	Register func(context.Context, *Mux, grpc.ClientConnInterface) error
}

// Upload is a path whose body is streamed: it may take as long as it keeps the least pace of httpserver.Paced.
type Upload struct {
	Route
	MaxBytes int64
	Deadline time.Duration // from the last byte of the body to the answer
}

// Page is something for people that is served beside the areas.
type Page struct {
	Route   string // as the metrics call it
	Matches func(path string) bool
	Handler http.Handler
}

// areas finds the area of a path.
type areas []*Area

// unknownArea stands for paths of no area.
var unknownArea = &Area{Shape: httpserver.Envelope, Deadline: DefaultDeadline}

// of returns the area with the longest prefix of whole segments, unknownArea if there is none.
func (all areas) of(path string) *Area {
	best, length := unknownArea, 0
	for _, a := range all {
		for _, prefix := range a.Prefixes {
			below, ok := strings.CutPrefix(path, prefix)
			if ok && (below == "" || below[0] == '/') && len(prefix) > length {
				best, length = a, len(prefix)
			}
		}
	}
	return best
}

// internalOnly reports whether only services may use path.
func (all areas) internalOnly(path string) bool {
	suffix := all.of(path).InternalSuffix
	return suffix != "" && strings.HasSuffix(path, suffix)
}

// limits of a request.
type limits struct {
	bodyBytes int64
	// deadline is the time for the answer; zero: none. An upload's begins when its last byte has arrived.
	deadline time.Duration
	upload   bool
}

func (a *Area) limits(method, path string) limits {
	for _, u := range a.Uploads {
		if u.Method == method && matches(u.Path, path) {
			return limits{u.MaxBytes, u.Deadline, true}
		}
	}
	for _, s := range a.Streams {
		if s.Method == method && matches(s.Path, path) {
			return limits{maxJSONBytes, 0, false}
		}
	}
	return limits{maxJSONBytes, a.Deadline, false}
}

// apply returns r with its limits; the caller calls cancel when the answer is sent.
func (l limits) apply(c *call, r *http.Request) (limited *http.Request, cancel func()) {
	ctx := context.WithValue(r.Context(), callKey{}, c)
	cancel = func() {}
	body := &requestBody{ended: func() {}}
	switch {
	case l.upload && r.Body != http.NoBody:
		var cancelCause context.CancelCauseFunc
		ctx, cancelCause = context.WithCancelCause(ctx)
		cancel = func() { cancelCause(nil) }
		httpserver.Paced(c.ResponseWriter, r)
		httpserver.AnswerWithin(c.ResponseWriter, 0) // begins with the answer
		body.ended = func() { time.AfterFunc(l.deadline, func() { cancelCause(context.DeadlineExceeded) }) }
	case l.deadline > 0:
		ctx, cancel = context.WithTimeout(ctx, l.deadline)
	}
	r = r.WithContext(ctx)
	if r.Body != http.NoBody {
		body.ReadCloser = http.MaxBytesReader(c, r.Body, l.bodyBytes)
		r.Body, c.body = body, body
	}
	return r, cancel
}
