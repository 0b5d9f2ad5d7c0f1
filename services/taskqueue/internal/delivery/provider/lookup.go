package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Lookup returns the scalar at a path of member names and indices in a JSON text, such as data.0.id. It returns false
// for invalid or truncated JSON, and if there is no such scalar; callers must not treat that as a rejection.
func Lookup(raw []byte, at string) (value string, found bool) {
	decoder := json.NewDecoder(bytes.NewReader(Text(raw)))
	decoder.UseNumber()
	var whole any
	if at == "" || decoder.Decode(&whole) != nil {
		return "", false
	}
	for step := range strings.SplitSeq(at, ".") {
		switch v := whole.(type) {
		case map[string]any:
			whole = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return "", false
			}
			whole = v[i]
		default:
			return "", false
		}
	}
	switch v := whole.(type) {
	case string, json.Number, bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// Text returns a response body without the byte order mark with which PHP and .NET pages may begin.
func Text(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) }

// Code returns the error code at a path in a JSON text, or 0 if there is none.
func Code(raw []byte, at string) int {
	text, _ := Lookup(raw, at)
	code, _ := strconv.Atoi(text)
	return code
}
