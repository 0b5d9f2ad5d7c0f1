package tracing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Has reports whether the span has all the attributes, each given as name=value.
func (s Span) Has(attributes ...string) bool {
	for _, a := range attributes {
		name, value, _ := strings.Cut(a, "=")
		if s.Attributes[name] != value {
			return false
		}
	}
	return true
}

// CheckOrigin returns an error unless the span came with the given authorization and with the resource attributes of
// every process: environment dev, a region and a version. An attribute that contains a forbidden text is an error, too.
func (s Span) CheckOrigin(authorization string, forbidden ...string) error {
	if s.Authorization != authorization || s.Resource["deployment.environment.name"] != "dev" ||
		s.Resource["cloud.region"] == "" || s.Resource["service.version"] == "" {
		return fmt.Errorf("%s came with authorization %q and resource %v", s.Name, s.Authorization, s.Resource)
	}
	for name, value := range s.Attributes {
		for _, text := range forbidden {
			if strings.Contains(value, text) {
				return fmt.Errorf("%s: %s shows %q", s.Name, name, value)
			}
		}
	}
	return nil
}

// LogLines returns the messages of a log of JSON lines that have the trace's id and a span id.
func LogLines(file, trace string) (messages []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	for line := range bytes.Lines(text) {
		var fields struct {
			Msg   string `json:"msg"`
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		}
		if json.Unmarshal(line, &fields) == nil && fields.Trace == trace && fields.Span != "" {
			messages = append(messages, fields.Msg)
		}
	}
	return messages, nil
}
