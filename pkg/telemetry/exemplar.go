package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Exemplar returns the label that joins a measurement to the trace it was taken in, nil when nothing is traced or the
// trace was not sampled: an exemplar that leads nowhere is worse than none.
func Exemplar(ctx context.Context) prometheus.Labels {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return nil
	}
	return prometheus.Labels{"trace_id": span.TraceID().String()}
}

// Observe measures value, and shows the trace of ctx beside it.
func Observe(ctx context.Context, histogram prometheus.Observer, value float64) {
	labels := Exemplar(ctx)
	if with, ok := histogram.(prometheus.ExemplarObserver); ok && labels != nil {
		with.ObserveWithExemplar(value, labels)
		return
	}
	histogram.Observe(value)
}
