// Package grpcapi serves the gRPC API of the rerun service: it authorizes callers, selects the laboratory of a call,
// and converts requests and responses.
package grpcapi
