// Package autorerun decides whether an instrument's values require an automatic rerun, and orders it from the task
// queue.
//
// It changes no rerun itself: the order is an outbox row, whose delivery makes the task queue post the request back to
// this service, which then saves it like any other. Two evaluations before that happens end in one open request: the
// second post is refused by the unique automatic slot.
package autorerun
