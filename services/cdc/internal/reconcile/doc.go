// Package reconcile owns the proof that three things agree for a laboratory — the source tables, user_meta and the
// search index — and the repair of what does not.
//
// A difference that is seen once proves nothing: a change on its way through the pipeline is one for a moment. What is
// seen is read again, by key and past all caches, until it disappears, or is the same twice.
//
// Repair never copies. A row that is wrong, or whose document is, is computed again with a revision above everything
// that the index holds of the patient, and passes the pipeline as any change. A document that should not be is deleted
// where it is, at the version behind its own, so that a change that comes meanwhile wins.
package reconcile
