// Package request requests a sample rerun, for a user or for the platform. Decide does no I/O.
//
// The order of the steps survives a crash at any point. While the report's row is locked, the document is inserted.
// Then flag 3, log entry 981 with the document's id (the commit marker) and the messages are committed. A document
// without its marker is abandoned: the next request that holds the lock can rely on the end of the other transaction,
// and deletes the document. The cache entry is set after the commit, from the committed flag.
package request
