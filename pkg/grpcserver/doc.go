// Package grpcserver implements the gRPC listener of every service. Its interceptors run in one order: metrics, log and
// error mapping, recovery from panics, deadline (not for streams), authentication, load limit, idempotency keys. When
// the server stops, running calls may finish for up to 15 seconds; then their connections are closed.
//
// Handlers return apperr errors and read the Principal from the context; they never deal with status codes, headers or
// missing deadlines. Each call is logged once, here, without its payload.
package grpcserver
