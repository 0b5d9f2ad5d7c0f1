// Package grpcapi is the transport of external editing: decode, decide who may, call, encode.
package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
	"github.com/labplatform/labplatform/services/externaledit/internal/watch"
)

// Watcher follows a report's events.
type Watcher interface {
	Watch(ctx context.Context, scope authn.LabScope, reportID int64, last string, send func(watch.Entry) error) error
}

// Linker signs download links.
type Linker interface {
	Parse(text string) (string, error)
	Link(ctx context.Context, scope authn.LabScope, key string) (string, error)
}

// Limits refuses too many requests of a user.
type Limits interface {
	Create(ctx context.Context, p authn.Principal) error
	Retrieve(ctx context.Context, p authn.Principal) error
	List(ctx context.Context, p authn.Principal) error
}

// Observer learns whether uploads come from the desktop client.
type Observer interface{ Agent(declared bool) }

// Deps is what the server calls.
type Deps struct {
	Editor    *editing.UseCase
	Uploader  *upload.UseCase
	Historian *history.UseCase
	Watcher   Watcher
	Linker    Linker
	Limits    Limits
	Observer  Observer
	// RequireAgentHeader refuses uploads without the desktop client's header.
	RequireAgentHeader bool
}

// Server implements externaleditv1.ExternalEditServiceServer.
type Server struct {
	externaleditv1.UnimplementedExternalEditServiceServer

	d Deps
}

// New returns the server.
func New(d Deps) *Server { return &Server{d: d} }

// positive refuses ids that cannot be one.
func positive(name string, id int64) error {
	if id <= 0 {
		return apperr.InvalidField(name, name+" must be a positive integer")
	}
	return nil
}
