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

// check returns an error if the setting cannot have this value, worded for the operator who sets it. The env
// library's own messages name Go's fields and types.
func (s setting) check(value string) error {
	if isServiceLink(s.key, value) {
		return fmt.Errorf("%s is %q: Kubernetes injected it for the Service of this name;"+
			" set enableServiceLinks: false for the pod, or set %s yourself", s.key, value, s.key)
	}
	kind := s.field.Type
	// Types such as slog.Level have their own text form.
	if own, ok := reflect.New(kind).Interface().(encoding.TextUnmarshaler); ok {
		if err := own.UnmarshalText([]byte(value)); err != nil {
			return fmt.Errorf("%s is %.40q: %w", s.key, value, err)
		}
		return nil
	}
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		return inRange(s, value, "a duration, such as 500ms or 2m", time.ParseDuration)
	case kind.Kind() == reflect.Bool:
		return checkBool(s, value)
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

func checkBool(s setting, value string) error {
	if _, err := strconv.ParseBool(value); err != nil {
		return fmt.Errorf("%s is %.40q: give true or false", s.key, value)
	}
	return nil
}

// inRange checks value against the tags min (default 0) and max, which are written in the same form as the
// value.
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
