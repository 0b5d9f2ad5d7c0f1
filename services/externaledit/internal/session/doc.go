// Package session contains the rules of editing sessions of reports: their holder, their expiry, the linked save, and
// how they end. A report has at most one active session. The package depends on no store and no transport.
package session
