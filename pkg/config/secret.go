package config

import (
	"encoding/json"
	"log/slog"
	"strings"
)

const masked = "***"

// Secret is a value that prints as *** everywhere: fmt, slog and JSON.
type Secret string

// Reveal returns the value. Its name makes every use visible in a review.
func (s Secret) Reveal() string { return string(s) }

// Keys returns the keys of a secret, which are separated by commas during a rotation. The first key signs;
// signatures of all of them are accepted. It returns nil for an empty secret.
func (s Secret) Keys() [][]byte {
	if s == "" {
		return nil
	}
	var keys [][]byte
	for key := range strings.SplitSeq(string(s), ",") {
		keys = append(keys, []byte(key))
	}
	return keys
}

// IsSet reports whether the secret has a value.
func (s Secret) IsSet() bool { return s != "" }

// String returns the mask, or an empty string for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString masks the value for %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue masks the value for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON masks the value in JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
