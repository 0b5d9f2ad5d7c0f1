// Package callout contains the rules of critical results: it judges a report's values, keeps the ledger of statements
// about them, decides about waits, notices and corrections, and limits who sees which reports. It does not depend on a
// store or a transport.
package callout
