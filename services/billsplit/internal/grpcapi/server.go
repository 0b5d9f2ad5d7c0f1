// Package grpcapi serves the gRPC API of bill splitting: it authorizes requests, calls the use cases, and converts
// requests and responses.
package grpcapi

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// Access defines which staff of a laboratory may split its bills. All other callers are rejected.
type Access string

// Values of BILL_SPLIT_ACCESS.
const (
	AnySession  Access = "session" // lab users and support logins
	SupportOnly Access = "support" // support logins only
)

// Deps are the dependencies of the server.
type Deps struct {
	Splitter *split.Splitter
	Viewer   *family.Viewer
	Merger   *family.Merger
	Access   Access
	Clock    clock.Clock
}

// Server serves the RPCs of bill splitting.
type Server struct {
	billsplitv1.UnimplementedBillSplitServiceServer

	d Deps
}

// New returns a server with the dependencies d.
func New(d Deps) *Server { return &Server{d: d} }

var (
	errNoBillID = apperr.InvalidField("bill_id", "bill_id must be a positive integer")
	errNotStaff = apperr.New(apperr.Forbidden, "STAFF_ONLY",
		"Bills are split and merged by lab users and support of the laboratory; ask the laboratory to do it")
	errSupport = apperr.New(apperr.Forbidden, "SUPPORT_REQUIRED",
		"Only support may split bills here; ask support to do it")
)

// admit returns the caller and the laboratory of the request. It checks the laboratory first, then the bill's id, which
// is the documented order.
func (s *Server) admit(ctx context.Context, named *int64, billID int64) (authn.Principal, authn.LabScope, error) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("bill.id", billID))
	p, scope, err := s.admitLab(ctx, named)
	if err == nil && billID <= 0 {
		err = errNoBillID
	}
	return p, scope, err
}

// admitLab returns the caller and the laboratory whose bills the caller may split.
func (s *Server) admitLab(ctx context.Context, named *int64) (authn.Principal, authn.LabScope, error) {
	p := authn.FromContext(ctx)
	var lab int64
	if named != nil {
		lab = *named
	}
	scope, err := p.Scope(lab)
	switch {
	case err != nil:
	case !p.IsStaff():
		err = errNotStaff
	case s.d.Access == SupportOnly && p.SessionType != authn.Support:
		err = errSupport
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("lab.id", scope.LabID()))
	return p, scope, err
}
