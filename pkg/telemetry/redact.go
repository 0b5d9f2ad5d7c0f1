package telemetry

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// failures are the names under which errors are logged.
var failures = []string{"error", "err", "cause"}

// redact keeps values out of errors. Whatever is logged under the name of an error, or in a group of that name,
// loses its quoted parts; values that are neither text nor a number are named by their type alone.
func redact(groups []string, a slog.Attr) slog.Attr {
	if !slices.Contains(failures, a.Key) &&
		!slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(failures, g) }) {
		return a
	}
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(withoutQuoted(a.Value.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(withoutQuoted(text(a.Value.Any())))
	default: // numbers, times and durations quote no one
	}
	return a
}

// text prints what is made to be printed. A structure printed field by field would show what no one quoted.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case []byte:
		return string(v)
	case []error:
		parts := make([]string, len(v))
		for i, err := range v {
			parts[i] = text(err)
		}
		return strings.Join(parts, "; ")
	default:
		return fmt.Sprintf("%T", value)
	}
}

// opening is a quotation mark that does not stand behind a letter, closing one that does not stand before a letter:
// "can't" quotes nothing.
var (
	opening = regexp.MustCompile("(?:^|[^\\pL\\pN])['\"`]")
	closing = regexp.MustCompile("['\"`](?:[^\\pL\\pN]|$)")
)

// withoutQuoted removes what database servers and parsers quote: the values at fault. The values are not escaped
// ('O'Brien'), so everything between the first mark and the last one goes, and without a closing one the rest.
func withoutQuoted(s string) string {
	found := opening.FindStringIndex(s)
	if found == nil {
		return s
	}
	start := found[1] - 1
	ends := closing.FindAllStringIndex(s[start+1:], -1)
	if len(ends) == 0 {
		return s[:start] + "'…'"
	}
	return s[:start] + "'…'" + s[start+1+ends[len(ends)-1][0]+1:]
}
