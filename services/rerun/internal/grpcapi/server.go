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
	Evaluate(
		ctx context.Context, scope authn.LabScope, reportID int64, readings []autorerun.Reading,
	) (autorerun.Verdict, error)
}

// Lister lists reruns.
type Lister interface {
	List(ctx context.Context, scope authn.LabScope, reportID int64) (listing.Listing, error)
}

// Receiver stores the values of instruments.
type Receiver interface {
	Receive(ctx context.Context, scope authn.LabScope, c receive.Command) (receive.Result, error)
}

// Closer ends reruns.
type Closer interface {
	Confirm(ctx context.Context, scope authn.LabScope, c closing.Confirmation) (closing.Confirmed, error)
	Abort(ctx context.Context, scope authn.LabScope, reportID int64, actor authn.Actor) error
}

// Editors finds authors who have a report open as a Word document.
type Editors interface {
	// Editor returns the name of the author who has the report open; "" if there is none or it cannot be determined in
	// time.
	Editor(ctx context.Context, scope authn.LabScope, reportID int64) string
}

// Deps holds the dependencies of the server. If DocumentStore is false, every call is rejected.
type Deps struct {
	DocumentStore bool
	Requester     Requester
	Evaluator     Evaluator
	Lister        Lister
	Receiver      Receiver
	Closer        Closer
	Editors       Editors
}

var _ rerunv1.RerunServiceServer = (*Server)(nil)

// Server serves the RPCs of sample reruns.
type Server struct {
	rerunv1.UnimplementedRerunServiceServer

	d Deps
}

// New returns a server with the dependencies d.
func New(d Deps) *Server { return &Server{d: d} }

// Errors of the checks that all operations share.
var (
	errDisabled = apperr.New(apperr.Invalid, "DOCUMENT_STORE_DISABLED", "Document store is not enabled")
	errNotYours = apperr.New(apperr.Forbidden, "FORBIDDEN",
		"Sample reruns are open to lab users and support of the laboratory")
	errInstrument = apperr.New(apperr.Forbidden, "FORBIDDEN",
		"An instrument's token may read reruns, send values and evaluate them; a lab user requests, confirms and aborts")
	errNoID = apperr.InvalidField("lab_report_id", "lab_report_id must be a positive integer")
)

// enter checks what all operations require, and returns the laboratory. named is the lab_id of the body, 0 without one.
// If it contradicts the credentials, the error is that of an unknown report.
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

// enterPerson does the checks of enter and also rejects instruments.
func (s *Server) enterPerson(ctx context.Context, reportID, named int64) (authn.LabScope, authn.Principal, error) {
	if s.d.DocumentStore && isInstrument(authn.FromContext(ctx)) {
		return authn.LabScope{}, authn.Principal{}, errInstrument
	}
	return s.enter(ctx, reportID, named)
}

// isInstrument reports whether p is an instrument interface: a bearer token without a session type.
func isInstrument(p authn.Principal) bool { return p.Kind == authn.Bearer && p.SessionType == "" }

// allowed reports whether p is a service, an instrument, or a login of the laboratory itself.
func allowed(p authn.Principal) bool {
	switch p.Kind {
	case authn.Service:
		return true
	case authn.Session, authn.Bearer:
		return p.SessionType == authn.LabUser || p.SessionType == authn.Support || isInstrument(p)
	default:
		return false
	}
}
