// Package activitylog owns how a service appends to the platform's table ActivityLog: who did what to which report
// or bill, with the state before and after as JSON. The log is append-only; nothing here reads, changes or deletes.
//
// Append works inside the caller's transaction, so an entry exists if and only if the change that it describes was
// committed. The id that it returns tells two otherwise equal changes apart, for example in an outbox dedupe key.
//
// Category codes are listed in codes.go and nowhere else, so that two services never give one code two meanings.
//
// Meta may hold results of patients. Errors of this package therefore name the operation and the database's error
// number, never a value; the original error stays reachable through errors.As.
package activitylog
