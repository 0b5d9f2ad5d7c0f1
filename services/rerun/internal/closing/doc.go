// Package closing ends a rerun: a confirm replaces values of the report, an abort keeps them. Decide is pure. Both
// archive every document of the rerun in the activity log, in the transaction that closes it, and delete exactly the
// archived documents afterwards. The sweeper deletes what a crash left.
package closing
