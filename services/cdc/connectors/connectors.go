// Package connectors builds the configurations of Kafka Connect and of the two source connectors. The local stack, the
// supervisor and a cluster use the same templates, in which ${…} marks the values that differ between them.
package connectors

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var placeholder = regexp.MustCompile(`\$\{([a-z_]+)\}`)

// fill replaces every ${name} in the template. It returns an error for a name without a value and for a value that is
// not used.
func fill(template string, values map[string]string) (string, error) {
	var unknown []string
	used := map[string]bool{}
	text := placeholder.ReplaceAllStringFunc(template, func(match string) string {
		name := match[2 : len(match)-1]
		value, known := values[name]
		if !known {
			unknown = append(unknown, name)
		}
		used[name] = true
		return value
	})
	for name := range values {
		if !used[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return "", fmt.Errorf("template and values differ in %s", strings.Join(unknown, ", "))
	}
	return text, nil
}
