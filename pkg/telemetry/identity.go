package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// identityKey is the key under which a context carries the ids of the next root span.
type identityKey struct{}

// WithIdentity returns a context in which a root span gets the ids of span instead of random ones. Two processes that
// know the same fact, as the position of a row's change, can thus speak of one span without having spoken to each
// other. It is for one call of Start: do not hand the context on.
func WithIdentity(ctx context.Context, span trace.SpanContext) context.Context {
	return context.WithValue(ctx, identityKey{}, span)
}

// Identities returns the generator of ids that heeds WithIdentity. Start uses it; tests with a provider of their own do
// too.
func Identities() sdktrace.IDGenerator { return identities{} }

// identities makes random ids, but for root spans whose context names them.
type identities struct{}

// NewIDs implements the SDK's IDGenerator.
func (g identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if wanted, ok := ctx.Value(identityKey{}).(trace.SpanContext); ok && wanted.IsValid() {
		return wanted.TraceID(), wanted.SpanID()
	}
	id := trace.TraceID{}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) // ids are no secrets
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) // ids are no secrets
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements the SDK's IDGenerator.
func (identities) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	id := trace.SpanID{}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) // ids are no secrets
	}
	return id
}
