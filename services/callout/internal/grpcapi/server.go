// Package grpcapi serves the gRPC API of the callout service: it authorizes requests, calls the use cases, and converts
// requests and responses.
package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/live"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// UseCases are the use cases behind the API.
type UseCases struct {
	Records   *records.UseCase
	History   *history.UseCase
	Save      *save.UseCase
	Claim     *claim.UseCase
	Evaluate  *evaluate.UseCase
	Worklist  *worklist.UseCase
	Live      *live.UseCase
	Settings  *settings.UseCase
	Durations Durations
}

// Server serves the RPCs of the callout service.
type Server struct {
	calloutv1.UnimplementedCalloutServiceServer

	u UseCases
}

// New returns a server that calls u.
func New(u UseCases) *Server { return &Server{u: u} }

// Durations measures how long use cases take. The returned function ends a measurement.
type Durations interface {
	Measure(ctx context.Context, operation string) (done func())
}

// Operations, used as labels of the duration histogram.
const (
	opRecords     = "records"
	opLogs        = "logs"
	opAudit       = "audit"
	opOpen        = "open"
	opSummary     = "summary"
	opSave        = "save"
	opClaim       = "claim"
	opEvaluate    = "evaluate"
	opSettings    = "settings"
	opUnconfirmed = "unconfirmed"
)

// Operations returns the labels of all operations.
func Operations() []string {
	return []string{opRecords, opLogs, opAudit, opOpen, opSummary, opSave, opClaim, opEvaluate, opSettings, opUnconfirmed}
}

// person returns the scope and the visibility of a logged-in person. Services are rejected, because they belong to no
// department.
func person(ctx context.Context) (authn.Principal, authn.LabScope, callout.Visibility, error) {
	p := authn.FromContext(ctx)
	v, err := callout.VisibilityOf(p)
	if err != nil {
		return p, authn.LabScope{}, v, err
	}
	scope, err := p.Scope(0)
	return p, scope, v, err
}

func performer(p authn.Principal, v callout.Visibility) save.Performer {
	by := save.Performer{Actor: p.Actor(), Sees: v}
	switch by.Actor.Kind {
	case authn.ActorLabUser:
		by.UserID = by.Actor.ID
	case authn.ActorDoctor:
		by.DoctorID = by.Actor.ID
	}
	return by
}

func checkBill(id int64) error {
	if id <= 0 {
		return apperr.InvalidField("bill_id", "bill_id must be a positive integer")
	}
	return nil
}
