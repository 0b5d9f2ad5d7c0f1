// Package reconcile compares the source tables, user_meta and the search index of a laboratory, and repairs
// differences.
//
// A single difference is no proof, because a change in the pipeline temporarily looks like one. Each difference is read
// again, by key and without caches, until it disappears or is found unchanged twice.
//
// A document that is missing or outdated is written from its row, at the revision of the row. A row that is wrong, or
// whose document has too high a version, is recomputed with a revision above everything that the index has of the
// patient, and passes the pipeline like any change. A document that should not exist is deleted with the next higher
// version, so that a later change wins.
package reconcile
