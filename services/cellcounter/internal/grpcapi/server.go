// Package grpcapi serves the gRPC API of the cell counter: it decodes requests, checks access, calls the use cases and
// encodes their results.
package grpcapi

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Observer records the duration of operations.
type Observer interface {
	Took(operation string, d time.Duration)
}

// Values of the label operation.
const (
	opRead         = "read"
	opWrite        = "write"
	opReset        = "reset"
	opDelete       = "delete"
	opDifferential = "differential"
	opCounts       = "counts"
	opSaveCount    = "save_count"
	opCells        = "cells"
	opTests        = "tests"
	opParameters   = "parameters"
	opWaiting      = "waiting"
)

// Operations returns all values of the label operation.
func Operations() []string {
	return []string{
		opRead, opWrite, opReset, opDelete, opDifferential, opCounts, opSaveCount, opCells, opTests, opParameters, opWaiting,
	}
}

// Deps holds the use cases that the server calls.
type Deps struct {
	Configurer   *configure.Configurer
	Counter      *observe.Counter
	DefaultScope DefaultScope
	Clock        clock.Clock
	Observer     Observer
}

// Server serves the RPCs of CellCounterService.
type Server struct {
	cellcounterv1.UnimplementedCellCounterServiceServer

	d Deps
}

// New returns a server with the dependencies d.
func New(d Deps) *Server { return &Server{d: d} }

// begin adds the laboratory, the test and the report to the span and starts to measure the operation. The caller defers
// done. A test or report of 0 is omitted.
func (s *Server) begin(ctx context.Context, operation string, testID, reportID int64) (done func()) {
	attributes := []attribute.KeyValue{attribute.Int64("lab.id", authn.FromContext(ctx).LabID)}
	if testID != 0 {
		attributes = append(attributes, attribute.Int64("test.id", testID))
	}
	if reportID != 0 {
		attributes = append(attributes, attribute.Int64("report.id", reportID))
	}
	trace.SpanFromContext(ctx).SetAttributes(attributes...)
	start := s.d.Clock.Now()
	return func() { s.d.Observer.Took(operation, s.d.Clock.Now().Sub(start)) }
}
