// Package grpcserver owns the gRPC listener of every service: one order of interceptors (metrics → log and
// error mapping → recover → deadline → authentication → load limit), graceful then hard stop.
//
// Handlers return apperr errors and read the Principal from the context; they never see a status code, a
// header or a missing deadline. Each call is logged once, here, without its payload.
package grpcserver
