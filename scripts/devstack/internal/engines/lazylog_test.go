package engines

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestLazyAttributesWriteTheSameLines(t *testing.T) {
	t.Parallel()
	write := func(logger func(slog.Handler) *slog.Logger) string {
		var out bytes.Buffer
		plain := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})
		base := logger(plain).With("a", 1)
		one, other := base.With("b", "two words"), base.With("c", 3)
		one.Warn("first")
		other.WithGroup("g").With("d", 4).Warn("second", "e", 5)
		one.Info("dropped")
		return out.String()
	}
	want := write(func(h slog.Handler) *slog.Logger { return slog.New(h) })
	got := write(func(h slog.Handler) *slog.Logger { return slog.New(lazyAttributes{Handler: h}) })
	if got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	if !strings.Contains(got, "g.d=4 g.e=5") {
		t.Errorf("%q lost the attributes of a group", got)
	}
}
