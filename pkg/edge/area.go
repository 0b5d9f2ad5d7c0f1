package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/httpserver"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
)

// DefaultDeadline is the deadline of areas that need no deadline of their own.
const DefaultDeadline = 10 * time.Second

// Area describes one service behind an edge: its paths, its error body and its deadline.
type Area struct {
	Name     string // the service, also the audience of tokens
	Title    string // the area's name in messages to users
	Prefixes []string
	Shape    httpserver.Shape
	Deadline time.Duration
	// MaxResponseBytes limits the size of a response of the service; zero means gRPC's 4 MiB.
	MaxResponseBytes int
	// InternalSuffix is the suffix of paths that only the internal listener serves; empty if there are none.
	InternalSuffix string
	// Uploads are additional paths with limits of their own.
	Uploads []Upload
	// Streams are paths that respond with server-sent events.
	Streams []Stream
	// Register adds the area's paths to the mux; calls go over the connection.
	Register func(context.Context, *Mux, grpc.ClientConnInterface) error
}

// Upload is a path whose request body is streamed. The upload may take any time while it keeps the minimum rate of
// httpserver.Paced.
type Upload struct {
	Route
	MaxBytes int64
	Deadline time.Duration // from the last byte of the body to the response
}

// Page is content for browsers that is served beside the areas.
type Page struct {
	Route   string // the route label in metrics
	Matches func(path string) bool
	Handler http.Handler
}

// areas finds the area of a path.
type areas []*Area

// unknownArea handles the paths of no area.
var unknownArea = &Area{Shape: httpserver.Envelope, Deadline: DefaultDeadline}

// of returns the area with the longest prefix of whole path segments, or unknownArea if none matches.
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

// internalOnly reports whether only the internal listener may serve path.
func (all areas) internalOnly(path string) bool {
	suffix := all.of(path).InternalSuffix
	return suffix != "" && strings.HasSuffix(path, suffix)
}

type limits struct {
	bodyBytes int64
	// deadline is the time to respond; zero means no limit. For an upload it starts when the last byte has arrived.
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

// apply returns r with its limits. The caller must call cancel when the response has been sent.
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
		httpserver.SetWriteTimeout(c.ResponseWriter, 0) // no limit until WriteHeader sets one
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

const searchDeadline = 5 * time.Second

// UserSearch returns the area that two edges serve: the gateway, and the search service on its own port.
func UserSearch() *Area {
	return &Area{
		Name:     "search",
		Title:    "User search",
		Prefixes: []string{"/api/v1/users", "/api/v1/lookup", "/api/v1/login"},
		Shape:    httpserver.Envelope,
		Deadline: searchDeadline,
		Register: func(ctx context.Context, mux *Mux, c grpc.ClientConnInterface) error {
			return searchv1.RegisterSearchServiceHandlerClient(ctx, mux.ServeMux, searchv1.NewSearchServiceClient(c))
		},
	}
}
