package edge

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/httpserver"
	searchv1 "github.com/labplatform/labplatform/proto/gen/lab/search/v1"
)

const searchDeadline = 5 * time.Second

// UserSearch returns the area that two edges serve: the gateway, and the search service on its own port.
func UserSearch() *Area {
	return &Area{
		Name:     "search",
		Title:    "User search",
		Prefixes: []string{"/api/v1/users"},
		Shape:    httpserver.Envelope,
		Deadline: searchDeadline,
		Register: func(ctx context.Context, mux *Mux, c grpc.ClientConnInterface) error {
			return searchv1.RegisterSearchServiceHandlerClient(ctx, mux.ServeMux, searchv1.NewSearchServiceClient(c))
		},
	}
}
