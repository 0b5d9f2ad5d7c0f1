package engines

import (
	"context"
	"log/slog"
)

// lazyAttributes is a log handler that formats the attributes of a logger only when a record is written. The document
// store makes a logger with the arguments of every statement, for records below the enabled level; formatting them took
// a sixth of its CPU.
type lazyAttributes struct {
	slog.Handler
	kept []slog.Attr
}

// WithAttrs stores attrs without formatting them.
func (h lazyAttributes) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lazyAttributes{Handler: h.Handler, kept: append(h.kept[:len(h.kept):len(h.kept)], attrs...)}
}

// WithGroup formats the stored attributes, because the later ones belong to the group.
func (h lazyAttributes) WithGroup(name string) slog.Handler {
	return lazyAttributes{Handler: h.Handler.WithAttrs(h.kept).WithGroup(name)}
}

// Handle writes the record with the stored attributes.
func (h lazyAttributes) Handle(ctx context.Context, record slog.Record) error {
	return h.Handler.WithAttrs(h.kept).Handle(ctx, record)
}
