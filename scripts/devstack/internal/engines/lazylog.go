package engines

import (
	"context"
	"log/slog"
)

// lazyAttributes keeps the attributes of a logger until a record is written. The document store adds the arguments of
// every statement to a logger of its own for lines that its level drops; formatting them was a sixth of its CPU.
type lazyAttributes struct {
	slog.Handler
	kept []slog.Attr
}

// WithAttrs keeps attrs without formatting them.
func (h lazyAttributes) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lazyAttributes{Handler: h.Handler, kept: append(h.kept[:len(h.kept):len(h.kept)], attrs...)}
}

// WithGroup formats what was kept: the attributes that follow belong to the group.
func (h lazyAttributes) WithGroup(name string) slog.Handler {
	return lazyAttributes{Handler: h.Handler.WithAttrs(h.kept).WithGroup(name)}
}

// Handle writes record with the attributes kept so far.
func (h lazyAttributes) Handle(ctx context.Context, record slog.Record) error {
	return h.Handler.WithAttrs(h.kept).Handle(ctx, record)
}
