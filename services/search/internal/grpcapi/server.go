// Package grpcapi serves the gRPC API of the search service: it identifies the caller, calls the use cases, and
// converts requests and responses.
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

// Deps are the dependencies of the server.
type Deps struct {
	Finder  Finder
	Reader  Reader
	Numbers NumberFinder
	Logins  LoginReader
	Clock   clock.Clock // determines the present day for the ages of patients
}

// Server serves the RPCs of the search service.
type Server struct {
	searchv1.UnimplementedSearchServiceServer

	d Deps
}

// New returns a server with the dependencies d.
func New(d Deps) *Server { return &Server{d: d} }

// SearchUsers finds the patients that match a text.
func (s *Server) SearchUsers(
	ctx context.Context, in *searchv1.SearchUsersRequest,
) (*searchv1.SearchUsersResponse, error) {
	command, err := commandOf(in)
	if err != nil {
		return nil, err
	}
	answer, err := s.d.Finder.Search(ctx, authn.FromContext(ctx), command)
	if err != nil {
		return nil, err
	}
	return found(answer, s.d.Clock.Now()), nil
}

var errUserID = apperr.InvalidField("user_id", "user_id must be a positive integer")

// GetUser returns one patient.
func (s *Server) GetUser(ctx context.Context, in *searchv1.GetUserRequest) (*searchv1.GetUserResponse, error) {
	if in.GetUserId() <= 0 {
		return nil, errUserID
	}
	person, err := s.d.Reader.Read(ctx, authn.FromContext(ctx), in.GetUserId())
	if err != nil {
		return nil, err
	}
	return &searchv1.GetUserResponse{User: user(person, s.d.Clock.Now())}, nil
}
