// Package document owns what the index holds of a patient: the fields, how they are mapped and encoded, and the
// versioned operations that a row of user_meta becomes.
//
// One list of fields drives the mapping and the encoder: the mapping is strict, so a field in one and not in the other
// would send every document to the dead-letter queue.
//
// Versions (v is the row's rev; the server keeps the higher version, equal ones are accepted):
//
//	2v    blanks the routes of the laboratories that the patient left
//	2v+1  writes the document on its own route
//	2v+2  removes what is left of a deleted row
//
// The low bit lets a late blank lose against the document of the same rev when both routes share a shard: there the
// two are one document for the server.
package document
