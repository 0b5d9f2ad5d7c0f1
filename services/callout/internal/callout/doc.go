// Package callout is the domain of critical results: the judgement of a report's values, the ledger of statements about
// them, the decision about waits, notices and corrections, and the visibility of reports. It knows no store and no
// transport.
package callout
