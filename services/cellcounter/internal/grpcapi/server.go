// Package grpcapi is the transport of the cell counter: decode, decide who may, call, encode.
package grpcapi

import (
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Server implements cellcounterv1.CellCounterServiceServer.
type Server struct {
	cellcounterv1.UnimplementedCellCounterServiceServer

	configurer   *configure.Configurer
	counter      *observe.Counter
	defaultScope DefaultScope
}

// New returns the server.
func New(c *configure.Configurer, n *observe.Counter, d DefaultScope) *Server {
	return &Server{configurer: c, counter: n, defaultScope: d}
}
