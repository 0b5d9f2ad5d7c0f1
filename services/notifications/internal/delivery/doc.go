// Package delivery encodes the messages of the use cases for the outbox and delivers them: pushes to the task queue,
// subscriptions to the push provider.
package delivery
