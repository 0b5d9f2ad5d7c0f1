package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const flushTimeout = 5 * time.Second

// Telemetry holds the loggers, metrics and tracers that every part of a service uses.
type Telemetry struct {
	Logger *slog.Logger
	// Audit logs who read or changed what, by ids only; the log level does not filter it.
	Audit    *slog.Logger
	Registry *prometheus.Registry
	Tracers  trace.TracerProvider
	// Tracing is false if no endpoint is configured; costly instrumentation is then left out.
	Tracing bool

	provider *sdktrace.TracerProvider
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
	if cfg.OTLPEndpoint == "" {
		return nil
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(cfg.otlpURL())}
	if cfg.OTLPAPIKey.IsSet() {
		options = append(options, otlptracegrpc.WithHeaders(map[string]string{"authorization": cfg.OTLPAPIKey.Reveal()}))
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return fmt.Errorf("open trace exporter: %w", err)
	}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.TraceSampleRate))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", service),
			attribute.String("service.version", version),
			attribute.String("deployment.environment.name", cfg.Environment),
			attribute.String("cloud.region", cfg.Region))))
	t.Tracers, t.Tracing = t.provider, true
	return nil
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

// Shutdown sends the remaining traces and reports, within five seconds.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if t.reports {
		sentry.Flush(flushTimeout)
	}
	if t.provider == nil {
		return nil
	}
	return errors.Join(t.provider.ForceFlush(ctx), t.provider.Shutdown(ctx))
}
