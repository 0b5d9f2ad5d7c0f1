// Package delivery encodes the messages of this service to others as outbox rows, and delivers them. Only this package
// uses the contracts of the called services.
package delivery
