// Package request requests a sample rerun, for a user or for the platform. Decide is pure.
//
// The order survives a crash at any line. While the report's row is locked, the document is inserted, then flag 3, log
// entry 981 with the document's id (the commit marker) and the messages are committed. A document without its marker is
// abandoned: the next request that holds the lock knows that its transaction has ended, and deletes it. The cache entry
// follows the commit and is taken from the committed flag.
package request
