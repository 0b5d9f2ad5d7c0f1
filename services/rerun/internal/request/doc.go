// Package request owns the request of a sample rerun, by a person or by the platform.
//
// The order survives a crash at any line. Under the row lock of the report: insert the document, set flag 3, log
// 981 with the document's id (the commit marker), commit. A document without its marker is abandoned: any request that
// holds the lock next knows that its transaction is over and deletes it. The cache entry follows the commit and
// is taken from a re-read of the flag.
package request
