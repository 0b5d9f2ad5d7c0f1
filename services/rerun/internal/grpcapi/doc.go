// Package grpcapi is the transport of the rerun service: it authorizes callers, selects the laboratory of a call, and
// converts between the contract and the use cases.
package grpcapi
