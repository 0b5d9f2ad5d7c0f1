// Package grpcapi serves the gRPC API of external editing: it authorizes requests, calls the use cases, and converts
// requests and responses.
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

// Watcher streams a report's events.
type Watcher interface {
	Watch(ctx context.Context, scope authn.LabScope, reportID int64, last string, send func(watch.Entry) error) error
}

// Linker signs download links.
type Linker interface {
	Parse(text string) (string, error)
	Link(ctx context.Context, scope authn.LabScope, key string) (string, error)
}

// Limits rejects requests beyond the rate limits of a user, and heartbeats beyond that of a session.
type Limits interface {
	Create(ctx context.Context, p authn.Principal) error
	Retrieve(ctx context.Context, p authn.Principal) error
	List(ctx context.Context, p authn.Principal) error
	Beat(ctx context.Context, sessionID int64) error
}

// Sealer encrypts the login that opens a session. It returns nil without a login.
type Sealer interface {
	Seal(login config.Secret) []byte
	// Renewed encrypts the author's present login. It returns nil if the session keeps this login already, or none.
	Renewed(sealed []byte, login config.Secret) []byte
}

// Observer records whether uploads come from the desktop client, and how long operations take.
type Observer interface {
	Agent(declared bool)
	Took(operation string, d time.Duration)
}

// Operations, as metrics name them.
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

// Operations returns all operations.
func Operations() []string {
	return []string{opGet, opCreate, opEnd, opForce, opBeat, opUpload, opList, opRestore, opHasOpen, opHeld, opOffer}
}

// Attributes of spans, in addition to the laboratory.
const (
	reportAttribute = "report.id"
	editAttribute   = "edit.id"
)

// begin adds the attributes of an operation to the span. The returned function ends the measurement of its duration.
func (s *Server) begin(ctx context.Context, operation, attributeName string, id int64) (done func()) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("lab.id", authn.FromContext(ctx).LabID),
		attribute.Int64(attributeName, id))
	start := s.d.Clock.Now()
	return func() { s.d.Observer.Took(operation, s.d.Clock.Now().Sub(start)) }
}

// Deps are the dependencies of the server.
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
	// RequireAgentHeader rejects uploads without the desktop client's header.
	RequireAgentHeader bool
}

// Server serves the RPCs of external editing.
type Server struct {
	externaleditv1.UnimplementedExternalEditServiceServer

	d Deps
}

// New returns a server with the dependencies d.
func New(d Deps) *Server { return &Server{d: d} }

// positive rejects ids that are not above zero.
func positive(name string, id int64) error {
	if id <= 0 {
		return apperr.InvalidField(name, name+" must be a positive integer")
	}
	return nil
}
