package labjson

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxExact is 2^53, the largest integer that every JSON parser represents exactly.
const maxExact = 1 << 53

const hexDigits = "0123456789abcdef"

func appendInt64(b []byte, n int64) []byte {
	if n > maxExact || n < -maxExact {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}

func appendUint64(b []byte, n uint64) []byte {
	if n > maxExact {
		return append(b, "null"...)
	}
	return strconv.AppendUint(b, n, 10)
}

// inexact reports whether a 64-bit integer field, or an element of its list, is null because it is beyond ±2^53.
func (f *field) inexact(v protoreflect.Value) bool {
	if !f.wide || f.isMap {
		return false
	}
	if !f.list {
		return beyond(v)
	}
	for i := range v.List().Len() {
		if beyond(v.List().Get(i)) {
			return true
		}
	}
	return false
}

func beyond(v protoreflect.Value) bool {
	if n, ok := v.Interface().(int64); ok {
		return n > maxExact || n < -maxExact
	}
	return v.Uint() > maxExact
}

// appendDigits appends the member <name>_text: the integer as text, for a list all of its elements.
func appendDigits(b []byte, f *field, v protoreflect.Value) []byte {
	b = append(b, ',', '"')
	b = append(b, f.name...)
	b = append(b, `_text":`...)
	if !f.list {
		return append(append(append(b, '"'), v.String()...), '"')
	}
	b = append(b, '[')
	for i := range v.List().Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), v.List().Get(i).String()...), '"')
	}
	return append(b, ']')
}

// appendFloat appends the shortest digits that parse to the same number. Like ECMAScript it uses an exponent only for
// very large and very small numbers.
func appendFloat(b []byte, v float64, bits int) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b, mismatch("is not a number")
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
		b[n-2] = b[n-1] // Go writes 1e-07, other implementations 1e-7
		b = b[:n-1]
	}
	return b, nil
}

func appendBase64(b, data []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, data)
	return append(b, '"')
}

func appendText(b []byte, s string) ([]byte, error) {
	if plain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"'), nil
	}
	if !utf8.ValidString(s) {
		return b, mismatch("is not UTF-8 text")
	}
	return appendString(b, s), nil
}

// plain reports whether s is ASCII without characters to escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendString quotes s, which must be valid UTF-8.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, c)
		start = i + 1
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}
