// Package grpcapi owns the gRPC transport of the task queue: who may call, decoding, calling, encoding. convert.go is
// the only place where protobuf meets the domain.
package grpcapi
