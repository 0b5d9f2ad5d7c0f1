// Package capture tests change capture on a platform with real engines: a seeded workload, faults in every part of the
// pipeline, and a comparison of the index with the tables once all changes have arrived.
package capture
