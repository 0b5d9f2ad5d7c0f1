// Package edge owns the REST transport of the platform: two listeners over one route table.
//
// A request walks: listener (strip headers, trim the slash, find the area, limit the body, set the deadline;
// the internal listener also swaps the caller's service token for one of its own) → the generated mux →
// pkg/labjson → gRPC → the area's service. Errors are written once, in errors.go, in the area's documented
// body. Access is decided by the services; the edge only forwards credentials.
package edge
