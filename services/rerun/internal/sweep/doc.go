// Package sweep runs the loop that repairs what a crash left between the database, the document store and the cache.
// Decide is pure. One process leads at a time. It reads documents that are older than every deadline, and changes
// nothing without the lock of the report's row:
//
//	request without its commit marker              deleted
//	document that is archived in the activity log  deleted
//	document of a closed rerun that is not         archived, then deleted
//	all requested values at flag 3                 flag 4
//	request that waits but lost its slot           takes it again
//	values that the callout service does not know  sent to it
//	cache entry that contradicts the flag          set or removed
package sweep
