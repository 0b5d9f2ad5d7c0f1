// Package engine owns the queue's data in Redis and the only code that changes it: one Lua script per
// transition, each validating first, mutating after, and safe to repeat. Time is Redis's alone. Every key of a
// script is declared and carries the shard as hash tag, so one script touches one cluster slot.
//
// A job is in exactly one place: a lane (waiting; score = due ms), the leases of its channel (running; score =
// fencing token), or the dead. The token is the lease deadline in ms × 1000 plus a claim counter: the claim that
// settles a job must still hold the token, so a late worker can never overwrite what came after it.
//
// The package model holds an in-memory double; one suite tests both. Callers declare the
// small interfaces they need.
package engine
