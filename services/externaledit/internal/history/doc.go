// Package history lists the revisions of a report, one for each save, and restores earlier ones. No revision is
// overwritten: restoring adds a revision that shares the files of the restored one.
package history
