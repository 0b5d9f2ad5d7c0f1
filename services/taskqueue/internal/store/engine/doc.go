// Package engine stores the queue's data in Redis and is the only code that changes it. Each transition is one Lua
// script, which validates before it writes and is safe to repeat. All times are from Redis's clock. Every key of a
// script is declared and has the hash tag of its shard, so a script uses a single cluster slot.
//
// A job is in at most one place: a lane (waiting; the score contains the flow and the due time), the leases of its
// channel (running; the score is the fencing token), or the dead letters. The token is the lease deadline in ms × 1000
// plus a claim counter. Settling a job requires its current token, so a late worker cannot overwrite a newer state.
//
// Package enginetest is an in-memory fake of the engine; one suite tests both. Callers declare the small interfaces
// that they use.
package engine
