package edge

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// internalHeader marks a call as internal. It is honoured only on the internal listener, together with a service token.
const internalHeader = "X-Is-Internal-Request"

// forwarded lists the headers that become gRPC metadata, under their lower-case names. grpc-gateway adds authorization
// itself.
var forwarded = map[string]bool{
	"Cookie": true, "Traceparent": true, "Tracestate": true, "Idempotency-Key": true,
	"X-Is-External-Edit-Request": true, "X-Request-Id": true, internalHeader: true, "Last-Event-Id": true,
	"If-Match": true,
}

// matchIncoming returns the metadata key of a header that is forwarded to services; it is grpc-gateway's allow-list.
// The listener has already removed the headers that its callers may not send.
func matchIncoming(key string) (string, bool) {
	if forwarded[http.CanonicalHeaderKey(key)] {
		return strings.ToLower(key), true
	}
	return "", false
}

// dangerous lists headers that would change how libraries or services treat a request.
var dangerous = []string{
	"Grpc-Timeout",
	"X-Http-Method-Override",
	"X-Forwarded-For",
	"X-Forwarded-Host",
	internalHeader,
}

// stripHeaders removes the headers that external callers may not send: the internal mark, gRPC metadata and deadlines,
// method overrides, and the addresses that proxies add.
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

// stripTrace removes an external caller's trace, because services would continue it.
func stripTrace(header http.Header) {
	header.Del("Traceparent")
	header.Del("Tracestate")
}

// unreadType replaces a Content-Type that cannot be parsed.
const unreadType = "application/octet-stream"

// plainType replaces a Content-Type that cannot be parsed: a library would log it, and it may contain anything.
func plainType(header http.Header) {
	for i, value := range header["Content-Type"] {
		if value == "application/json" { // the common case
			continue
		}
		if _, _, err := mime.ParseMediaType(value); err != nil {
			header["Content-Type"][i] = unreadType
		}
	}
}

// unsupported returns a message if the content encoding or type of r's body is not supported, otherwise "". Types that
// clients such as curl send by default are read as JSON.
func unsupported(r *http.Request) string {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return ""
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "The body has a Content-Encoding. Send it uncompressed, without that header."
	}
	kind, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	kind = strings.TrimSpace(kind)
	isText := strings.HasPrefix(kind, "text/") && kind != "text/xml"
	if isText || strings.HasSuffix(kind, "+json") || slices.Contains(readTypes, kind) {
		return ""
	}
	return "The body has a Content-Type that is not read here. Send application/json, or the form that the path documents."
}

var readTypes = []string{"", "application/json", "application/x-www-form-urlencoded", "multipart/form-data", unreadType}
