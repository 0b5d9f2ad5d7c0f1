package telemetry

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// flushTimeout is the longest time for which a stop waits for the trace collector and for error reporting.
const flushTimeout = 500 * time.Millisecond

// Telemetry holds the loggers, metrics and tracers that every part of a service uses.
type Telemetry struct {
	Logger *slog.Logger
	// Audit logs who read or changed what, by ids only; the log level does not filter it.
	Audit    *slog.Logger
	Registry *prometheus.Registry
	Tracers  trace.TracerProvider
	// Tracing is false if no endpoint is configured; costly instrumentation is then left out.
	Tracing bool

	provider *sdktrace.TracerProvider // nil if no endpoint is configured
	export   *export
	reports  bool
}

// Start sets up the telemetry of a service. Logs go to w. The caller must call Shutdown last.
func Start(ctx context.Context, service, version string, cfg Config, w io.Writer) (*Telemetry, error) {
	t := &Telemetry{
		Logger:   newLogger(service, cfg, w),
		Audit:    newLogger(service, audit(cfg), w),
		Registry: prometheus.NewRegistry(),
		Tracers:  noop.NewTracerProvider(),
	}
	adoptLibraries(t.Logger, w)
	t.Registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), lifecycle.Metrics())
	otel.SetTextMapPropagator(propagation.TraceContext{}) // without baggage, which callers could send through all services
	if err := t.startTracing(ctx, service, version, cfg); err != nil {
		return nil, err
	}
	return t, t.startReports(service, version, cfg)
}

func (t *Telemetry) startTracing(ctx context.Context, service, version string, cfg Config) error {
	e := newExport(t.Logger, t.Registry) // its metrics exist without a collector too: alerts and dashboards read them
	if cfg.OTLPEndpoint == "" {
		return nil
	}
	target, err := url.Parse(cfg.otlpURL())
	if err != nil {
		return fmt.Errorf("open trace exporter: %w", err)
	}
	headers := map[string]string{}
	if cfg.OTLPAPIKey.IsSet() {
		headers["authorization"] = cfg.OTLPAPIKey.Reveal()
	}
	t.export = e
	spans, err := t.export.open(ctx, target, headers)
	if err != nil {
		return err
	}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(spans),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.TraceSampleRate))),
		sdktrace.WithResource(t.resource(ctx, service, version, cfg)))
	t.Tracers, t.Tracing = t.provider, true
	return nil
}

// resource describes the process in its spans. OTEL_RESOURCE_ATTRIBUTES adds attributes, such as k8s.pod.name, and may
// replace service.instance.id and service.namespace.
func (t *Telemetry) resource(ctx context.Context, service, version string, cfg Config) *resource.Resource {
	r, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceInstanceID(rand.Text()), semconv.ServiceNamespace("labplatform")),
		resource.WithFromEnv(), resource.WithTelemetrySDK(),
		resource.WithAttributes(
			semconv.ServiceName(service), semconv.ServiceVersion(version),
			semconv.DeploymentEnvironmentNameKey.String(cfg.Environment), semconv.CloudRegion(cfg.Region)))
	if err != nil { // the other attributes are valid
		t.Logger.Warn("OTEL_RESOURCE_ATTRIBUTES ignored in part: use name=value,name=value", "error", err)
	}
	return r
}

func (t *Telemetry) startReports(service, version string, cfg Config) error {
	if !cfg.ErrorReportDSN.IsSet() {
		return nil
	}
	err := sentry.Init(sentry.ClientOptions{
		Dsn: cfg.ErrorReportDSN.Reveal(), Environment: cfg.Environment, Release: service + "@" + version,
		BeforeSend: func(event *sentry.Event, _ *sentry.EventHint) *sentry.Event {
			event.Request, event.User = nil, sentry.User{}
			return event
		},
	})
	if err != nil {
		return fmt.Errorf("open error reporting: %w", err)
	}
	t.reports = true
	return nil
}

// Report sends a defect to error reporting, if that is configured. what must be a constant phrase, because the text of
// an error may contain values.
func (t *Telemetry) Report(what string) {
	if t.reports {
		sentry.CaptureMessage(what)
	}
}

// Shutdown sends the remaining traces and reports within half a second. It drops what cannot be sent by then: that must
// not delay a stop or make it fail.
func (t *Telemetry) Shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var reported sync.WaitGroup
	if t.reports {
		reported.Go(func() { sentry.Flush(flushTimeout) })
	}
	defer reported.Wait()
	if t.provider != nil {
		_ = t.provider.Shutdown(ctx) // spans that are still waiting are counted and logged
		t.export.stopped()
	}
}
