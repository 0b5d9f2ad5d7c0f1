// Package capture proves the change-capture pipeline: a seeded workload on a platform of real engines, faults in every
// part of it, and an oracle that compares the index with the tables once all changes have arrived.
package capture
