// Package rebuild owns the making of a new search index beside the one that is in use, and the way back.
//
//	create   user_details_v<N+1> with the alias user_details_next
//	wait     until every syncer writes both (each asks for its targets every indexsync.LookupEvery)
//	fill     from user_meta, each row at its own version
//	verify   the new index against user_meta, laboratory by laboratory; what is missing is filled in
//	swap     both aliases in one step; the old index stays
//
// Nothing is written down: the aliases say how far a rebuild came. A second run takes up an index that a first one left
// and fills in what it lacks. Whatever the stream writes meanwhile has a version of its own and wins where it is newer.
//
// Why no event is lost: a row that changes before the fill reads it is filled with the change. One that changes later
// has an event that no syncer took up before the wait was over, and by then all write both. See docs/adr/0006.
package rebuild
