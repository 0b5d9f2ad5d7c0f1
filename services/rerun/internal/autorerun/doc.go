// Package autorerun decides whether an instrument's values require an automatic rerun, and orders it from the task
// queue.
//
// It changes no rerun itself. The order is an outbox row. Once it is delivered, the task queue posts the request to
// this service, which saves it like any other. Two evaluations before that lead to one open request, because the unique
// automatic slot rejects the second post.
package autorerun
