// Package e2e holds the black-box tests: a whole stack of real binaries and engines, spoken to as its users do,
// through the addresses of endpoints.json alone.
package e2e
