// Package indexsync writes rows of user_meta to the search index: it turns events into operations, sends these until
// each has a final result, and derives the results of the events.
//
// All operations may be repeated: each has a version, and the server ignores an operation with a lower version than it
// has. A lost response therefore only causes a repeat.
package indexsync
