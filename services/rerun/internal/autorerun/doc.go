// Package autorerun decides whether an instrument's values require an automatic rerun, and orders it from the task
// queue.
//
// It changes no rerun itself. The order is an outbox row. Once it is delivered, the task queue posts the request to
// this service, which saves it like any other. A second evaluation adds its indices to an order that waits. If the task
// queue already has the order, the unique automatic slot rejects the second post.
package autorerun
