package grpcapi

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/distinct"
)

var errIndices = apperr.InvalidField("requested_parameters",
	`requested_parameters must be a list of different integers, like "[1, 3, 5]", "1,3,5" or [1, 3, 5]`)

// indicesOf parses requested_parameters, which has three forms.
func indicesOf(raw []byte) ([]int, error) {
	if len(raw) == 0 {
		return nil, errIndices
	}
	var text string
	if raw[0] == '"' {
		if json.Unmarshal(raw, &text) != nil {
			return nil, errIndices
		}
	} else {
		text = string(raw)
	}
	text = strings.TrimSpace(text)
	if raw[0] != '"' && !strings.HasPrefix(text, "[") {
		return nil, errIndices // a bare number or object is none of the forms
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, errIndices
		}
	}
	return splitIndices(text)
}

func splitIndices(text string) ([]int, error) {
	if strings.Count(text, ",") >= maxRows {
		return nil, apperr.InvalidField("requested_parameters", "requested_parameters has at most 500 indices")
	}
	parts := strings.Split(text, ",")
	indices := make([]int, 0, len(parts))
	for _, part := range parts {
		n, ok := integer(unquote(strings.TrimSpace(part)))
		if !ok {
			return nil, errIndices
		}
		indices = append(indices, n)
	}
	if len(distinct.Of(indices)) < len(indices) {
		return nil, errIndices
	}
	return indices, nil
}

// unquote removes the quotes of an element, because some clients send ["1", "3"].
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// integer parses a decimal integer of 32 bits. A plus sign is not allowed.
func integer(s string) (int, bool) {
	if strings.HasPrefix(s, "+") {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// textOf returns a JSON text, or a number as text. Missing data and null give "".
func textOf(raw []byte) (string, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", true
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	var n json.Number
	return string(raw), json.Unmarshal(raw, &n) == nil
}
