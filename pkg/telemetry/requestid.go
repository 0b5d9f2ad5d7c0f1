package telemetry

import "context"

// maxRequestID is the maximum length of a request's id in columns and headers.
const maxRequestID = 64

type requestIDKey struct{}

// WithRequestID returns ctx with the id of the request that caused the work. The id links the logs of all services. An
// invalid id is ignored.
func WithRequestID(ctx context.Context, id string) context.Context {
	if !IsRequestID(id) {
		return ctx
	}
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the request's id in ctx, or an empty string.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// IsRequestID reports whether id is short enough and consists of letters, digits, hyphens and underscores only, so that
// it is safe in headers, rows and logs.
func IsRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for _, c := range []byte(id) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
