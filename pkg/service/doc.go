// Package service owns what every process of the platform does alike, so that a service's own app package is the list
// of its own decisions: telemetry, the readiness checks, the opening and closing of stores and clients, the gRPC
// server, the administration listener, the order of a start and of a stop.
//
// Run calls the service's build function, which opens what the service needs on the given *Service. Nothing runs until
// build returned without an error. Then the administration listener, the probes and the gRPC server start, and after
// them the loops in the order in which build added them. A stop goes the other way round: not ready, drain, loops,
// servers, and last what was opened, newest first.
//
// A store that is unavailable does not fail a start: it makes the process live and not ready, and it is asked again
// until it answers.
package service
