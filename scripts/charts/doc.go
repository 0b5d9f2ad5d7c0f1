// Package charts owns the proofs about the Helm charts in charts/: they render, their manifests are valid, their
// schemas refuse what is wrong, and they agree with the services' settings, ports and callers.
//
// Everything runs in process: neither helm nor a cluster is needed. With -update the tests write the schemas and the
// rendered manifests that are committed.
package charts
