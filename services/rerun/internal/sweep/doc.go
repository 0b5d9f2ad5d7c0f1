// Package sweep runs the loop that repairs differences between the database, the document store and the cache after a
// crash. Decide does no I/O. One process at a time runs the loop. It reads documents that are older than every
// deadline, and changes a report only under the lock of its row:
//
//	request without its commit marker              deleted
//	document that is archived in the activity log  deleted
//	document of a closed rerun that is not         archived, then deleted
//	all requested values at flag 3                 flag 4
//	waiting request without its slot               gets it again
//	values that the callout service was not told   sent to it
//	cache entry that contradicts the flag          set or removed
package sweep
