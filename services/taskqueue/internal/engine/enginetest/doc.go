// Package enginetest owns the conformance suite that every engine passes, and the check of the invariants of
// the data model. It is imported by tests only.
package enginetest
