// Package roster owns the one table of the services of the stack: what each is called, where it listens, and
// which environment it gets. Adding a service is adding one entry.
package roster
