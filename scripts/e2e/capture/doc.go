// Package capture holds the proof of the change-capture pipeline: a seeded workload on a platform of real engines,
// faults in every part of it, and an oracle that compares the index with the tables at rest.
package capture
