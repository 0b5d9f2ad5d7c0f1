// Package session owns what an editing session of a report is: who holds it, until when, which save is linked, and how
// it ends. At most one session of a report is active. The package is pure: stores and transports depend on it.
package session
