// Package apperr owns the one error type that crosses layers: what kind of failure it is, a stable reason
// for programs, a sentence for people, and the fields at fault. It imports only the standard library.
//
// Stores translate driver errors into it, use cases add context with %w, pkg/rpcerr turns it into a gRPC
// status once, and the gateway renders it once in the documented body of the area.
package apperr
