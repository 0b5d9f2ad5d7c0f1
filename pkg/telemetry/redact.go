package telemetry

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// failures are the attribute names under which errors are logged.
var failures = []string{"error", "err", "cause"}

// redact removes values from errors. An attribute with the name of an error, or in a group of that name, loses its
// quoted parts. A value that is neither text nor a number is replaced by the name of its type.
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
	default: // numbers, times and durations contain no quoted values
	}
	return a
}

// text returns the text of values that have a text form, and only the type of others: the fields of a struct may
// contain unquoted values.
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

// opening matches a quotation mark that does not follow a letter or digit, closing one that does not precede one, so
// that "can't" is not a quotation.
var (
	opening = regexp.MustCompile("(?:^|[^\\pL\\pN])['\"`]")
	closing = regexp.MustCompile("['\"`](?:[^\\pL\\pN]|$)")
)

// withoutQuoted removes quoted text, which database servers and parsers use for the wrong value. Quotes in values are
// not escaped ('O'Brien'), so everything from the first to the last quotation mark is removed; without a closing mark,
// everything after the first.
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
