package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Requester requests reruns.
type Requester interface {
	Request(ctx context.Context, scope authn.LabScope, c request.Command) (rerun.Record, error)
}

// Evaluator decides on automatic reruns.
type Evaluator interface {
	Evaluate(ctx context.Context, scope authn.LabScope, reportID int64, readings []autorerun.Reading) ([]int, error)
}

// Lister lists reruns.
type Lister interface {
	List(ctx context.Context, scope authn.LabScope, reportID int64) (listing.Listing, error)
}

// Receiver takes the values of instruments.
type Receiver interface {
	Receive(ctx context.Context, scope authn.LabScope, c receive.Command) (receive.Result, error)
}

// Closer ends reruns.
type Closer interface {
	Confirm(ctx context.Context, scope authn.LabScope, c closing.Confirmation) error
	Abort(ctx context.Context, scope authn.LabScope, reportID int64, actor authn.Actor) error
}

// Editors knows who edits a report as a Word document.
type Editors interface {
	// Editor returns the name of who has the report open, "" when no one does or it cannot be told in time.
	Editor(ctx context.Context, scope authn.LabScope, reportID int64) string
}

// Deps is what the server works with. DocumentStore false refuses every call.
type Deps struct {
	DocumentStore bool
	Requester     Requester
	Evaluator     Evaluator
	Lister        Lister
	Receiver      Receiver
	Closer        Closer
	Editors       Editors
}

// Server implements rerunv1.RerunServiceServer.
type Server struct {
	rerunv1.UnimplementedRerunServiceServer

	d Deps
}

// New returns the server.
func New(d Deps) *Server { return &Server{d: d} }

// Errors of the prologue that every operation shares.
var (
	errDisabled = apperr.New(apperr.Invalid, "DOCUMENT_STORE_DISABLED", "Document store is not enabled")
	errNotYours = apperr.New(apperr.Forbidden, "FORBIDDEN",
		"Sample reruns are open to lab users and support of the laboratory")
	errNoID = apperr.InvalidField("lab_report_id", "lab_report_id must be a positive integer")
)

// enter checks what every operation needs, and returns the laboratory that it works on. named is the lab_id of
// the body, 0 when it has none; one that contradicts the credential looks like an unknown report.
func (s *Server) enter(ctx context.Context, reportID, named int64) (authn.LabScope, authn.Principal, error) {
	p := authn.FromContext(ctx)
	switch {
	case !s.d.DocumentStore:
		return authn.LabScope{}, p, errDisabled
	case !allowed(p):
		return authn.LabScope{}, p, errNotYours
	case reportID <= 0:
		return authn.LabScope{}, p, errNoID
	}
	scope, err := p.Scope(named)
	if err != nil && p.Kind != authn.Service && p.LabID > 0 {
		return scope, p, rerun.ErrNoReport
	}
	return scope, p, err
}

// allowed admits services, and logins of the laboratory itself. A bearer without a session type is an instrument
// interface.
func allowed(p authn.Principal) bool {
	switch p.Kind {
	case authn.Service:
		return true
	case authn.Session:
		return p.SessionType == authn.LabUser || p.SessionType == authn.Support
	case authn.Bearer:
		return p.SessionType == authn.LabUser || p.SessionType == authn.Support || p.SessionType == ""
	default:
		return false
	}
}
