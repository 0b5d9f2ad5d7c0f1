// Package delivery turns what the use cases want sent into messages of the outbox, and delivers these: pushes to the
// task queue, new subscriptions to the push provider.
package delivery
