package telemetry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/telemetry"
)

func TestExemplarIsTheSampledTrace(t *testing.T) {
	t.Parallel()
	id := trace.TraceID{7}
	for flags, want := range map[trace.TraceFlags]string{trace.FlagsSampled: id.String(), 0: ""} {
		ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: trace.SpanID{1}, TraceFlags: flags,
		}))
		histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", Help: "Of a test.", Buckets: []float64{1}})
		telemetry.Observe(ctx, histogram, 0.5)
		var out dto.Metric
		if err := histogram.Write(&out); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, label := range out.GetHistogram().GetBucket()[0].GetExemplar().GetLabel() {
			got = label.GetName() + "=" + label.GetValue()
		}
		if want != "" {
			want = "trace_id=" + want
		}
		if got != want || out.GetHistogram().GetSampleCount() != 1 {
			t.Errorf("flags %v: exemplar = %q with %d samples, want %q with 1", flags, got, out.GetHistogram().GetSampleCount(), want)
		}
	}
}
