// Package edge implements the platform's REST transport: two listeners over one route table.
//
// A request passes the listener (trim the slash, find the area, limit the body, set the deadline, strip headers; the
// internal listener also replaces the caller's service token by one of its own), then the generated mux, pkg/labjson
// and gRPC, and reaches the area's service. All errors have the area's documented body. The services authorize calls;
// the edge only forwards credentials.
package edge
