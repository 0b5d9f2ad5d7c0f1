package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Exemplar returns the label that links a measurement to the trace of ctx. It is nil without a trace or if the trace
// was not sampled, because such an exemplar would lead nowhere.
func Exemplar(ctx context.Context) prometheus.Labels {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsSampled() {
		return nil
	}
	return prometheus.Labels{"trace_id": span.TraceID().String()}
}

// Observe records value, with the trace of ctx as exemplar.
func Observe(ctx context.Context, histogram prometheus.Observer, value float64) {
	labels := Exemplar(ctx)
	if with, ok := histogram.(prometheus.ExemplarObserver); ok && labels != nil {
		with.ObserveWithExemplar(value, labels)
		return
	}
	histogram.Observe(value)
}
