// Package aftercommit owns work that follows a commit and must neither delay nor fail the answer to the caller:
// deleting what was archived, refreshing a cache, asking another service to look again.
//
// Such work is best effort. It is lost when the process dies, when the queue is full, and when it fails; each is
// counted and logged. So it must be repeatable, and something else must repair what was lost: a sweeper, change
// capture, an expiry. What must not be lost goes through pkg/outbox instead.
//
// Work with the same key runs in the order of Do, one after the other; other keys run beside it.
//
// For a new service: New; Do from the use case, after its commit; lifecycle Run(queue.Run) BEFORE the server is added,
// so that it stops after the server's last call. It then finishes what is queued.
package aftercommit
