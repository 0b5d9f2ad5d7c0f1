package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// maxWaiting is the number of spans that wait in memory for the collector; further ones are dropped. It is the
	// length of the batcher's own queue, which would drop without counting.
	maxWaiting = 2048
	// attemptTimeout limits one attempt, for a collector that accepts connections and does not respond.
	attemptTimeout = 5 * time.Second
	// batchTimeout limits all attempts of one batch. No span is lost when a collector restarts within this time and the
	// queue has space. Later, the batch is dropped in favour of newer spans.
	batchTimeout = 5 * time.Minute
	// maxReason is the length of a logged reason in bytes.
	maxReason = 300
)

// With reconnect and retry, spans reach a collector within two seconds of its recovery. The libraries' defaults wait up
// to two minutes.
var (
	reconnect = grpc.ConnectParams{
		Backoff: backoff.Config{
			BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 500 * time.Millisecond,
		},
		MinConnectTimeout: time.Second,
	}
	retry = otlptracegrpc.RetryConfig{
		Enabled: true, InitialInterval: 100 * time.Millisecond, MaxInterval: 500 * time.Millisecond,
		MaxElapsedTime: batchTimeout,
	}
	// silent closes a connection whose data is not acknowledged for ten seconds. It pings only every five minutes, because
	// collectors by default reject more frequent pings.
	silent = keepalive.ClientParameters{Time: 5 * time.Minute, Timeout: 10 * time.Second}
)

// export sends spans to the collector. While the collector is unavailable, only spans are lost: they are counted, and
// the log has one line when it becomes unavailable and one when it recovers.
type export struct {
	log      *slog.Logger
	endpoint string
	failed   prometheus.Counter

	waiting, dropped atomic.Int64
	unavailable      atomic.Bool
}

func newExport(log *slog.Logger, registry prometheus.Registerer) *export {
	m := NewMetrics(registry)
	e := &export{log: log}
	e.failed = m.Counter("telemetry_exports_failed_total", "Failed attempts to send spans to the trace collector.")
	m.CounterFunc("telemetry_spans_dropped_total",
		"Spans that did not reach the trace collector: too many waited, or it did not accept them in time.",
		func() float64 { return float64(e.dropped.Load()) })
	m.GaugeFunc("telemetry_spans_waiting", "Spans in memory that wait for the trace collector.",
		func() float64 { return float64(e.waiting.Load()) })
	return e
}

// open returns the processor of ended spans. It does not wait for the collector.
func (e *export) open(ctx context.Context, target *url.URL, headers map[string]string) (sdktrace.SpanProcessor, error) {
	e.endpoint = target.Host
	exporter, err := otlptracegrpc.New(ctx,
		otlptracegrpc.WithEndpointURL(target.String()),
		// The name is resolved at each attempt to connect, because a new collector often has another address.
		otlptracegrpc.WithEndpoint("passthrough:///"+target.Host),
		otlptracegrpc.WithHeaders(headers), otlptracegrpc.WithTimeout(batchTimeout), otlptracegrpc.WithRetry(retry),
		otlptracegrpc.WithDialOption(grpc.WithConnectParams(reconnect), grpc.WithKeepaliveParams(silent),
			grpc.WithChainUnaryInterceptor(e.attempt)))
	if err != nil {
		return nil, fmt.Errorf("open trace exporter: %w", err)
	}
	return &queue{e, sdktrace.NewBatchSpanProcessor(&batches{e, exporter},
		sdktrace.WithMaxQueueSize(maxWaiting), sdktrace.WithExportTimeout(batchTimeout))}, nil
}

// attempt makes one attempt, and logs when the collector becomes unavailable or available.
func (e *export) attempt(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := invoke(ctx, method, req, reply, conn, opts...)
	switch {
	case err != nil:
		e.failed.Inc()
		if !e.unavailable.Swap(true) {
			e.log.Warn("trace collector unavailable; spans wait in memory, further ones are dropped", "endpoint", e.endpoint,
				"reason", reasonOf(err))
		}
	case e.unavailable.Swap(false):
		e.log.Info("trace collector available again", "endpoint", e.endpoint, "dropped_spans_total", e.dropped.Load())
	}
	return err
}

// reasonOf returns the error's text. It can contain addresses and names of certificates, but nothing about patients,
// because spans are the only content of a request.
func reasonOf(err error) string {
	s := status.Convert(err)
	text := s.Code().String() + ": " + s.Message()
	return text[:min(len(text), maxReason)]
}

// stopped counts and logs the spans that are still waiting when the process ends.
func (e *export) stopped() {
	if lost := e.waiting.Swap(0); lost > 0 {
		e.dropped.Add(lost)
		e.log.Warn("spans were lost at the stop: the trace collector did not accept them in time", "endpoint", e.endpoint,
			"spans", lost)
	}
}

// queue limits the number of waiting spans.
type queue struct {
	e *export
	sdktrace.SpanProcessor
}

func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.e.waiting.Add(1) > maxWaiting {
		q.e.waiting.Add(-1)
		q.e.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// batches is the exporter that sends batches of the queue's spans.
type batches struct {
	e *export
	sdktrace.SpanExporter
}

// ExportSpans always returns nil, because failures are already logged and counted.
func (b *batches) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := b.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		b.e.dropped.Add(int64(len(spans)))
	}
	b.e.waiting.Add(-int64(len(spans)))
	return nil
}
