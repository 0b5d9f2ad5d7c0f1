package telemetry

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

func newLogger(service string, cfg Config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel, ReplaceAttr: redact}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if cfg.LogJSON {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(traced{handler}).With("service", service)
}

// audit returns cfg with a level of at most Info, so that no audit line is filtered.
func audit(cfg Config) Config {
	cfg.LogLevel = min(cfg.LogLevel, slog.LevelInfo)
	return cfg
}

// traced adds the ids of the current span and request to every line.
type traced struct{ slog.Handler }

func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
