package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Lookup finds the scalar at a path of member names and indices in a JSON text, such as data.0.id; "" when there is
// none.
func Lookup(raw []byte, at string) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if at == "" || decoder.Decode(&value) != nil {
		return ""
	}
	for step := range strings.SplitSeq(at, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return ""
			}
			value = v[i]
		default:
			return ""
		}
	}
	switch v := value.(type) {
	case string, json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}

// Code is the error code at a path in a JSON text, 0 when there is none.
func Code(raw []byte, at string) int {
	code, _ := strconv.Atoi(Lookup(raw, at))
	return code
}
