// Package service contains what every process of the platform does in the same way, so that a service's own app package
// only lists its own parts: telemetry, readiness checks, opening and closing of stores and clients, the gRPC server,
// the administration listener, and the order of start and stop.
//
// Run calls the service's build function, which opens what the service needs through the given *Service. Nothing runs
// until build has returned without an error. Then the administration listener, the probes and the gRPC server start,
// and after them the loops in the order of their addition. A stop runs in reverse: not ready, drain, loops, servers,
// and last the closers, newest first.
//
// An unavailable store does not fail the start. The process is live and not ready, and the store is probed until it
// responds.
package service
