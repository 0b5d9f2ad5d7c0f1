// Package grpcapi owns the transport of the rerun service: who may call, which laboratory a call works on, and
// the translation between the contract and the use cases (convert.go is the only border with protobuf).
package grpcapi
