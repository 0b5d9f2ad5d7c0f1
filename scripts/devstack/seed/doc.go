// Package seed owns fixtures: it reads the JSON format of the README and writes it straight into the stores of a
// running stack. Everything is checked before anything is written; the rows go in with one transaction.
package seed
