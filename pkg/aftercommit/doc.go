// Package aftercommit runs work in the background after a commit: work that must neither delay nor fail the
// response to the caller, such as deleting archived rows, refreshing a cache, or asking another service to
// check something again.
//
// Such work is best effort. It is lost when the process dies, when the queue is full, and when it fails; each
// loss is counted and logged. The work must therefore be repeatable, and another mechanism (a sweeper, change
// capture, an expiry) must repair a loss. Work that must not be lost goes through pkg/outbox.
//
// Work with the same key runs one at a time, in the order of the calls of Do; work with different keys may run
// concurrently.
//
// To use it in a service: create a queue with New; call Do from the use case after its commit; add lifecycle
// Run(queue.Run) BEFORE the server, so that the queue stops after the server's last call. It then finishes the
// queued work.
package aftercommit
