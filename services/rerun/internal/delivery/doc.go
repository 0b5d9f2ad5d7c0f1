// Package delivery owns the messages of this service to others: what an outbox row holds, and how the relay
// hands it over. It is the border with the contracts of the services that are called.
package delivery
