// Package e2e holds the black-box tests: a whole stack of real binaries and engines, spoken to as its users do,
// through the addresses of endpoints.json alone.
//
// All tests share one database. The ids of a test's bills, reports and other rows are its own: newIDs gives them. Older
// tests have numbers of their own between 90000 and 99999 and above 900000.
package e2e
