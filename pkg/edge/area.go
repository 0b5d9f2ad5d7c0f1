package edge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/rest"
)

// DefaultDeadline is for areas whose calls are neither quick nor long.
const DefaultDeadline = 10 * time.Second

// Area is one service behind an edge: which paths it answers, in which error body, and within which time.
type Area struct {
	Name     string // the service, also the audience of tokens
	Title    string // for people
	Prefixes []string
	Shape    rest.Shape
	Deadline time.Duration
	// InternalSuffix ends the routes that the public door does not have; "": none.
	InternalSuffix string
	// Uploads are paths beside the contracts' own, with limits of their own.
	Uploads []Upload
	// Streams are paths that answer with server-sent events.
	Streams []Stream
	// Register adds the paths to the mux, answered over the connection.
	Register func(context.Context, *Mux, grpc.ClientConnInterface) error
}

// Upload is a path whose body is streamed.
type Upload struct {
	Route
	MaxBytes int64
	Deadline time.Duration
}

// Page is something for people that is served beside the areas.
type Page struct {
	Route   string // as the metrics call it
	Matches func(path string) bool
	Handler http.Handler
}

// areas finds the area of a path.
type areas []*Area

// nowhere stands for paths of no area.
var nowhere = &Area{Shape: rest.Envelope, Deadline: DefaultDeadline}

// of returns the area with the longest prefix of whole segments, nowhere if there is none.
func (all areas) of(path string) *Area {
	best, length := nowhere, 0
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

// internalOnly tells whether only services may use path.
func (all areas) internalOnly(path string) bool {
	suffix := all.of(path).InternalSuffix
	return suffix != "" && strings.HasSuffix(path, suffix)
}

// limits of a request: the bytes of its body, and the time for its answer, zero for a stream without an end.
func (a *Area) limits(method, path string) (bodyBytes int64, deadline time.Duration) {
	for _, u := range a.Uploads {
		if u.Method == method && matches(u.Path, path) {
			return u.MaxBytes, u.Deadline
		}
	}
	for _, s := range a.Streams {
		if s.Method == method && matches(s.Path, path) {
			return maxJSONBytes, 0
		}
	}
	return maxJSONBytes, a.Deadline
}
