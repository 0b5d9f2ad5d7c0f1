// Package cli runs the verbs of devstack: it reads arguments and environment, calls the package that does the work, and
// converts its error into an exit code.
package cli
