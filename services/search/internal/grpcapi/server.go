// Package grpcapi is the gRPC transport of the search: who, what, decode, call, encode. convert.go is the border with
// protobuf.
package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
	"github.com/labplatform/labplatform/services/search/internal/find"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Finder searches patients.
type Finder interface {
	Search(ctx context.Context, p authn.Principal, c find.Command) (find.Answer, error)
}

// Reader reads one patient.
type Reader interface {
	Read(ctx context.Context, p authn.Principal, userID int64) (search.Person, error)
}

// Server implements searchv1.SearchServiceServer.
type Server struct {
	searchv1.UnimplementedSearchServiceServer

	finder Finder
	reader Reader
	clock  clock.Clock // ages are of today
}

// New returns the server.
func New(f Finder, r Reader, c clock.Clock) *Server { return &Server{finder: f, reader: r, clock: c} }

// SearchUsers finds patients.
func (s *Server) SearchUsers(
	ctx context.Context, in *searchv1.SearchUsersRequest,
) (*searchv1.SearchUsersResponse, error) {
	command, err := commandOf(in)
	if err != nil {
		return nil, err
	}
	answer, err := s.finder.Search(ctx, authn.FromContext(ctx), command)
	if err != nil {
		return nil, err
	}
	return found(answer, s.clock.Now()), nil
}

var errUserID = apperr.InvalidField("user_id", "user_id must be a positive integer")

// GetUser reads a patient.
func (s *Server) GetUser(ctx context.Context, in *searchv1.GetUserRequest) (*searchv1.GetUserResponse, error) {
	if in.GetUserId() <= 0 {
		return nil, errUserID
	}
	person, err := s.reader.Read(ctx, authn.FromContext(ctx), in.GetUserId())
	if err != nil {
		return nil, err
	}
	return &searchv1.GetUserResponse{User: user(person, s.clock.Now())}, nil
}
