// Package rebuild creates a new search index beside the live one and switches searches to it, or back to an older one.
//
//	create   user_details_v<N+1> with the alias user_details_next
//	wait     until every process writes both (each looks up its targets every indexsync.LookupEvery)
//	fill     from user_meta, each row at its own version
//	merge    the segments of the new index
//	verify   the new index against user_meta, laboratory by laboratory; what is missing is filled in
//	swap     both aliases in one step; the old index stays
//
// The progress is stored only in the aliases. A second run continues with the index left by the first one and fills in
// missing documents. Changes that the pipeline writes meanwhile have their own versions, and the newer version is kept.
//
// No change is lost: a row that changes before the fill reads it is filled with the change. The event of a later change
// is processed after the wait, when all processes write both indexes. See docs/adr/0006.
package rebuild
