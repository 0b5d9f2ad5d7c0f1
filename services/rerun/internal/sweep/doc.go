// Package sweep owns the loop that repairs what a crash left between the database, the document store and the
// cache. One process leads at a time. It looks at documents that are older than every deadline, and touches
// nothing without holding the report's row:
//
//	request without its commit marker              deleted
//	document that is archived in the activity log  deleted
//	document of a closed rerun that is not         archived, then deleted
//	all requested values at flag 3                 flag 4
//	request that waits but lost its slot           gets it back
//	fulfilled request that still has its slot      gives it back
//	cache entry that contradicts the flag          set or removed
package sweep
