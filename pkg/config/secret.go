package config

import (
	"encoding/json"
	"log/slog"
	"strings"
)

const masked = "***"

// Secret is a value that prints as *** everywhere: fmt, slog and JSON.
type Secret string

// Reveal returns the value. The name is there to be noticed in a review.
func (s Secret) Reveal() string { return string(s) }

// Keys returns the keys of a secret that may hold several, separated by commas, as during a rotation: the first signs,
// and what any of them signed is taken.
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

// String returns the mask, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString masks %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue masks slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON masks JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
