// Package grpcapi is the transport of bill splitting: decode, decide who may, call, encode.
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

// Access says which of a laboratory's staff may work on its bills. No one else may.
type Access string

// The values of BILL_SPLIT_ACCESS.
const (
	AnySession  Access = "session" // lab users and support
	SupportOnly Access = "support" // support log-ins
)

// Deps is what the server calls.
type Deps struct {
	Splitter *split.Splitter
	Viewer   *family.Viewer
	Merger   *family.Merger
	Access   Access
	Clock    clock.Clock
}

// Server answers the RPCs of bill split.
type Server struct {
	billsplitv1.UnimplementedBillSplitServiceServer

	d Deps
}

// New returns the server.
func New(d Deps) *Server { return &Server{d: d} }

var (
	errNoBillID = apperr.InvalidField("bill_id", "bill_id must be a positive integer")
	errNotStaff = apperr.New(apperr.Forbidden, "STAFF_ONLY",
		"Bills are split and merged by lab users and support of the laboratory; ask the laboratory to do it")
	errSupport = apperr.New(apperr.Forbidden, "SUPPORT_REQUIRED",
		"Only support may split bills here; ask support to do it")
)

// admit returns the laboratory that the caller works for. The laboratory is checked first, then the bill's id: the
// documented order.
func (s *Server) admit(ctx context.Context, named *int64, billID int64) (authn.Principal, authn.LabScope, error) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int64("bill.id", billID))
	p, scope, err := s.admitLab(ctx, named)
	if err == nil && billID <= 0 {
		err = errNoBillID
	}
	return p, scope, err
}

// admitLab returns the laboratory on whose bills the caller may work.
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
