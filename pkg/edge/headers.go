package edge

import (
	"mime"
	"net/http"
	"strings"
)

// internalHeader marks a call as internal. It counts only on the internal listener, with a service token.
const internalHeader = "X-Is-Internal-Request"

// forwarded are the headers that become gRPC metadata, under their own lower-case names. The library adds
// authorization by itself.
var forwarded = map[string]bool{
	"Cookie": true, "Traceparent": true, "Tracestate": true, "Idempotency-Key": true,
	"X-Is-External-Edit-Request": true, "X-Request-Id": true, internalHeader: true, "Last-Event-Id": true,
}

// matchIncoming tells grpc-gateway which headers pass inwards: an allow-list. The listener has already removed
// what its callers may not send.
func matchIncoming(key string) (string, bool) {
	if forwarded[http.CanonicalHeaderKey(key)] {
		return strings.ToLower(key), true
	}
	return "", false
}

// dangerous headers are acted upon by libraries on the way in.
var dangerous = []string{
	"Grpc-Timeout",
	"X-Http-Method-Override",
	"X-Forwarded-For",
	"X-Forwarded-Host",
	internalHeader,
}

// stripHeaders removes what no caller from outside may send: the internal mark, gRPC metadata and deadlines,
// method overrides.
func stripHeaders(header http.Header) {
	for _, key := range dangerous {
		header.Del(key)
	}
	for key := range header {
		if strings.HasPrefix(key, "Grpc-") {
			header.Del(key)
		}
	}
}

// stripTrace removes the trace of a stranger, which services would continue.
func stripTrace(header http.Header) {
	header.Del("Traceparent")
	header.Del("Tracestate")
}

// unreadType stands for a Content-Type that cannot be read.
const unreadType = "application/octet-stream"

// plainType replaces a Content-Type that cannot be read: a library would print it, and it may hold anything.
func plainType(header http.Header) {
	for i, value := range header["Content-Type"] {
		if value == "application/json" { // nearly all
			continue
		}
		if _, _, err := mime.ParseMediaType(value); err != nil {
			header["Content-Type"][i] = unreadType
		}
	}
}

// trimSlash removes exactly one trailing slash, so that both forms of every documented path answer without a
// redirect, which would lose bodies.
func trimSlash(path string) string {
	if len(path) > 1 && path[len(path)-1] == '/' {
		return path[:len(path)-1]
	}
	return path
}
