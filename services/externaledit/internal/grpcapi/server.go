// Package grpcapi is the transport of external editing: decode, decide who may, call, encode.
package grpcapi

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
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

// Limits refuses too many requests of a user, and too many signs of life of a session.
type Limits interface {
	Create(ctx context.Context, p authn.Principal) error
	Retrieve(ctx context.Context, p authn.Principal) error
	List(ctx context.Context, p authn.Principal) error
	Beat(ctx context.Context, sessionID int64) error
}

// Sealer seals the login that opens a session; nil for none.
type Sealer interface {
	Seal(login config.Secret) []byte
	// Renewed seals a login that the session does not keep yet; nil when there is nothing to renew.
	Renewed(sealed []byte, login config.Secret) []byte
}

// Observer learns whether uploads come from the desktop client, and how long operations take.
type Observer interface {
	Agent(declared bool)
	Took(operation string, d time.Duration)
}

// The operations in metrics.
const (
	opGet     = "get"
	opCreate  = "create"
	opEnd     = "end"
	opForce   = "force_end"
	opBeat    = "heartbeat"
	opUpload  = "upload"
	opList    = "revisions"
	opRestore = "restore"
	opHasOpen = "has_open"
	opHeld    = "held"
	opOffer   = "templates"
)

// Operations lists them.
func Operations() []string {
	return []string{opGet, opCreate, opEnd, opForce, opBeat, opUpload, opList, opRestore, opHasOpen, opHeld, opOffer}
}

// The attributes of spans, beside the laboratory.
const (
	reportAttribute = "report.id"
	editAttribute   = "edit.id"
)

// begin says in the span what an operation is about, and returns what ends its measuring.
func (s *Server) begin(ctx context.Context, operation, attributeName string, id int64) (done func()) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("lab.id", authn.FromContext(ctx).LabID),
		attribute.Int64(attributeName, id))
	start := s.d.Clock.Now()
	return func() { s.d.Observer.Took(operation, s.d.Clock.Now().Sub(start)) }
}

// Deps is what the server calls.
type Deps struct {
	Editor    *editing.UseCase
	Uploader  *upload.UseCase
	Historian *history.UseCase
	Holds     Holds
	Watcher   Watcher
	Linker    Linker
	Limits    Limits
	Logins    Sealer
	Observer  Observer
	Clock     clock.Clock
	// RequireAgentHeader refuses uploads without the desktop client's header.
	RequireAgentHeader bool
}

// Server answers the RPCs of external editing.
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
