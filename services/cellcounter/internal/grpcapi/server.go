// Package grpcapi is the transport of the cell counter: decode, decide who may, call, encode.
package grpcapi

import (
	"context"

	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Configurer reads and writes mappings.
type Configurer interface {
	Read(ctx context.Context, testID int64, owner mapping.Owner) (configure.View, error)
	Write(ctx context.Context, w configure.Write) (configure.Outcome, error)
	Cells(ctx context.Context) ([]mapping.Cell, error)
}

// Counter keeps the counts of observers.
type Counter interface {
	Save(ctx context.Context, a observe.Access, key observe.Key, c observe.Count) (observe.Comparison, error)
	Load(ctx context.Context, a observe.Access, reportID, testID int64) (observe.Comparison, error)
}

// Server implements cellcounterv1.CellCounterServiceServer.
type Server struct {
	cellcounterv1.UnimplementedCellCounterServiceServer

	configurer   Configurer
	counter      Counter
	defaultScope DefaultScope
}

// New returns the server.
func New(c Configurer, n Counter, d DefaultScope) *Server {
	return &Server{configurer: c, counter: n, defaultScope: d}
}
