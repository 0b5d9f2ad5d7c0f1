// Package history owns what was saved: the list of a report's revisions, and making an earlier one the report's files
// again. Nothing is ever overwritten: a restored revision is a new one that shares the files of the one it repeats.
package history
