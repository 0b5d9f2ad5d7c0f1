package webhook

import (
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/circuit"
)

const (
	breakerFailures = 10
	maxPathClasses  = 64 // of one receiver; the paths beyond share one circuit
)

// circuit is the one of a path at a receiver.
func (h *hosts) circuit(one *host, path string) *circuit.Circuit {
	class := pathClass(path)
	h.mu.Lock()
	defer h.mu.Unlock()
	if one.circuits[class] == nil && len(one.circuits) >= maxPathClasses {
		class = ""
	}
	if one.circuits[class] == nil {
		one.circuits[class] = circuit.New(circuit.Settings{Failures: breakerFailures})
	}
	return one.circuits[class]
}

// paused counts the circuits that are open.
func (h *hosts) paused() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.known {
		for _, c := range one.circuits {
			if c.IsOpen() {
				n++
			}
		}
	}
	return n
}

// pathClass is the path without what looks like the id of a thing: /bill/17/paid and /bill/18/paid fail together.
func pathClass(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}
