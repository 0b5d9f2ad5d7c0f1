// Package apperr defines the error type that is passed between layers: the kind of failure, a stable reason
// for programs, a sentence for users, and the wrong fields. It imports only the standard library.
//
// Stores translate driver errors into it, use cases add context with %w, pkg/rpcerr converts it into a gRPC
// status, and the gateway renders it in the documented error body of the area.
package apperr
