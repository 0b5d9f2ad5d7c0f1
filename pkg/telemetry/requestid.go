package telemetry

import "context"

// maxRequestID is what a column and a header hold of a request's id.
const maxRequestID = 64

type requestIDKey struct{}

// WithRequestID returns ctx with the id of the request that all work in it follows from, for people who look for it in
// the logs of all services. What is no id changes nothing.
func WithRequestID(ctx context.Context, id string) context.Context {
	if !IsRequestID(id) {
		return ctx
	}
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id in ctx, "" when there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// IsRequestID tells ids from what callers might send in their place: they stand in headers, rows and lines of the log.
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
