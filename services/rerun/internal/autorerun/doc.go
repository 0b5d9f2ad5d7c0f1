// Package autorerun owns the decision whether an instrument's values call for an automatic rerun, and the order
// to the task queue that follows from it.
//
// It changes no rerun itself: the order is an outbox row, whose delivery makes the task queue post the request
// back to this service, which then saves it like any other. Two evaluations before that happens end in one open
// request: the second post is refused by the unique automatic slot.
package autorerun
