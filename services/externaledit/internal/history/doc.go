// Package history lists the saves of a report, its revisions, and restores earlier ones. Saves are never overwritten:
// restoring adds a revision that shares the files of the restored one.
package history
