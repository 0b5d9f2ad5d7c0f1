// Package closing owns how a rerun ends: confirm replaces values of the report, abort keeps them. Both archive
// every document of the rerun in the activity log, in the same transaction that closes it, and delete exactly the
// archived documents afterwards. What a crash leaves is archived already, and the sweeper deletes it.
package closing
