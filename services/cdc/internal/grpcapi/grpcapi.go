// Package grpcapi is the gRPC API of the consumer. Other services use it to recompute a patient before the patient's
// change events arrive.
package grpcapi

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	cdcv1 "github.com/labplatform/labplatform/proto/gen/lab/cdc/v1"
)

// maxUsers is the maximum number of patients per call.
const maxUsers = 1000

// Recomputer writes the current state of patients of one laboratory, even if it is unchanged.
type Recomputer interface {
	// RecomputeIn recomputes the patients that belong or belonged to the laboratory, and returns their number.
	RecomputeIn(ctx context.Context, scope authn.LabScope, userIDs []int64) (int, error)
}

// Server serves the gRPC API of change capture.
type Server struct {
	cdcv1.UnimplementedChangeCaptureServiceServer

	recomputer Recomputer
}

// New returns a Server that recomputes with r.
func New(r Recomputer) *Server { return &Server{recomputer: r} }

// SyncUsers recomputes patients for another service. Ids of other laboratories are ignored.
func (s *Server) SyncUsers(ctx context.Context, in *cdcv1.SyncUsersRequest) (*cdcv1.SyncUsersResponse, error) {
	p := authn.FromContext(ctx)
	if p.Kind != authn.Service {
		return nil, apperr.New(apperr.Forbidden, "FORBIDDEN", "This call is open to the platform's own services only")
	}
	scope, err := p.Scope(in.GetLabId())
	if err != nil {
		return nil, err
	}
	ids := in.GetUserIds()
	if len(ids) == 0 || len(ids) > maxUsers {
		return nil, apperr.InvalidField("user_ids", "user_ids must name 1 to 1000 users; send more in several calls")
	}
	if slices.Min(ids) <= 0 {
		return nil, apperr.InvalidField("user_ids", "user_ids must be positive integers")
	}
	synced, err := s.recomputer.RecomputeIn(ctx, scope, ids)
	if err != nil {
		return nil, err
	}
	return &cdcv1.SyncUsersResponse{Synced: int32(synced)}, nil // at most maxUsers, so it fits
}
