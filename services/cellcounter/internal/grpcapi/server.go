// Package grpcapi is the transport of the cell counter: decode, decide who may, call, encode.
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

// Observer measures how long operations take.
type Observer interface {
	Took(operation string, d time.Duration)
}

// The operations in metrics.
const (
	opRead         = "read"
	opWrite        = "write"
	opReset        = "reset"
	opDelete       = "delete"
	opDifferential = "differential"
	opCounts       = "counts"
	opSaveCount    = "save_count"
	opCells        = "cells"
)

// Operations lists them.
func Operations() []string {
	return []string{opRead, opWrite, opReset, opDelete, opDifferential, opCounts, opSaveCount, opCells}
}

// Deps is what the server calls.
type Deps struct {
	Configurer   *configure.Configurer
	Counter      *observe.Counter
	DefaultScope DefaultScope
	Clock        clock.Clock
	Observer     Observer
}

// Server implements cellcounterv1.CellCounterServiceServer.
type Server struct {
	cellcounterv1.UnimplementedCellCounterServiceServer

	d Deps
}

// New returns the server.
func New(d Deps) *Server { return &Server{d: d} }

// begin adds the laboratory, the test and the report to the span, and starts measuring the operation; the caller defers
// done. Test 0 and report 0 are left out.
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
