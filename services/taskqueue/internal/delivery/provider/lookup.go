package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Lookup finds the scalar at a path of member names and indices in a JSON text, such as data.0.id. It reports false for
// a text that is not JSON or was cut, and for one without such a scalar: neither says anything, and no caller may take
// it for a refusal.
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

// Text is an answer's body without the byte order mark that PHP and .NET pages begin with.
func Text(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) }

// Code is the error code at a path in a JSON text, 0 when there is none.
func Code(raw []byte, at string) int {
	text, _ := Lookup(raw, at)
	code, _ := strconv.Atoi(text)
	return code
}
