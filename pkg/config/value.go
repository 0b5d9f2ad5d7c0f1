package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// check reports a value that its setting cannot take, in the words of who sets it. The env library's own messages name
// Go's fields and types.
func (s setting) check(value string) error {
	if isServiceLink(s.key, value) {
		return fmt.Errorf("%s is %q: that is no setting but the link that Kubernetes makes for a Service of this name;"+
			" set enableServiceLinks: false for the pod, or set %s yourself", s.key, value, s.key)
	}
	kind := s.field.Type
	// slog.Level is a number that is written as a word.
	if own, ok := reflect.New(kind).Interface().(encoding.TextUnmarshaler); ok {
		if err := own.UnmarshalText([]byte(value)); err != nil {
			return fmt.Errorf("%s is %.40q: %w", s.key, value, err)
		}
		return nil
	}
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		return inRange(s, value, "a duration, as 500ms or 2m", time.ParseDuration)
	case kind.Kind() == reflect.Bool:
		return inSpelling(s, value)
	case kind.Kind() == reflect.Float32 || kind.Kind() == reflect.Float64:
		return inRange(s, value, "a number", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
	case reflect.Int <= kind.Kind() && kind.Kind() <= reflect.Uint64:
		return inRange(
			s,
			value,
			"a whole number",
			func(text string) (int64, error) { return strconv.ParseInt(text, 10, kind.Bits()) },
		)
	}
	return nil
}

func inSpelling(s setting, value string) error {
	if _, err := strconv.ParseBool(value); err != nil {
		return fmt.Errorf("%s is %.40q: give true or false", s.key, value)
	}
	return nil
}

// inRange checks value against the tags min (0 unless given) and max, which are written as the value is.
func inRange[T cmp.Ordered](s setting, value, form string, parse func(string) (T, error)) error {
	got, err := parse(value)
	if err != nil || got != got { // only NaN differs from itself
		return fmt.Errorf("%s is %.40q: give %s", s.key, value, form)
	}
	for _, bound := range []struct {
		tag, fallback, says string
		out                 int
	}{{"min", "0", "at least", -1}, {"max", "", "at most", 1}} {
		text := cmp.Or(s.field.Tag.Get(bound.tag), bound.fallback)
		if text == "" {
			continue
		}
		limit, err := parse(text)
		if err != nil {
			return errors.Join(fmt.Errorf("the tag %s of %s is %q", bound.tag, s.key, text), err)
		}
		if cmp.Compare(got, limit) == bound.out {
			return fmt.Errorf("%s is %s: it must be %s %s", s.key, value, bound.says, text)
		}
	}
	return nil
}
