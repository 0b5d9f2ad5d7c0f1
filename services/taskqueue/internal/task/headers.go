package task

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Limits of the headers of a webhook task, from both places together.
const (
	maxHeaders     = 20
	maxHeaderBytes = 8 << 10
)

// reserved reports whether a header is controlled by the connection, the gateway or the queue, so that callers may not
// set it.
func reserved(name string) bool {
	name = strings.ToLower(name)
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc(
		[]string{"proxy-", "x-forwarded-", "webhook-", "grpc-", "sec-", "x-task-"}, begins) ||
		slices.Contains([]string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
			"keep-alive", "expect", "via", "forwarded", "cookie", "traceparent", "tracestate", "baggage", "user-agent",
			"accept-encoding", "x-is-internal-request", "x-job-id", "idempotency-key", "x-real-ip"}, name)
}

// MergeHeaders merges the headers from the two places of a task; those in data win. Reserved names are dropped, as the
// API documents. problem is a message for the caller about invalid names or values, or exceeded limits.
func MergeHeaders(outer, data map[string]string) (merged map[string]string, problem string) {
	merged = make(map[string]string, len(outer)+len(data))
	size := 0
	for _, source := range []map[string]string{outer, data} {
		for name, value := range source {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, "a header name or value holds characters that HTTP does not allow"
			}
			if reserved(name) {
				continue
			}
			maps.DeleteFunc(merged, func(known, _ string) bool { return strings.EqualFold(known, name) })
			merged[name] = value
		}
	}
	for name, value := range merged {
		size += len(name) + len(value)
	}
	if len(merged) > maxHeaders || size > maxHeaderBytes {
		return nil, "a task has at most 20 headers of 8 KiB together"
	}
	return merged, ""
}
