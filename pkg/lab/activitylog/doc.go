// Package activitylog appends to the platform's table ActivityLog: actor, action, report or bill, and the state before
// and after as JSON. The log is append-only; the package neither reads, changes nor deletes entries.
//
// Append works within the caller's transaction, so an entry exists if and only if the described change was committed.
// The returned id distinguishes two otherwise equal changes, for example in an outbox dedupe key.
//
// All category codes are listed in this package, so that two services never use one code for different events.
//
// Meta may contain results of patients. Errors of this package therefore contain the operation and the database's error
// number, never a value; the original error is available through errors.As.
package activitylog
