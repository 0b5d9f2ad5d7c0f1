// Package document defines the documents of patients in the index: their fields, mapping and encoding, and the
// versioned operations for a row of user_meta.
//
// One list of fields defines both the mapping and the encoder. The mapping is strict, so a field in only one of them
// would make every document a dead letter.
//
// Versions (v is the rev of the row; the server keeps the document with the higher version and accepts equal ones):
//
//	2v    writes stubs ("blanks") on the routes of the laboratories that the patient left
//	2v+1  writes the document on its own route
//	2v+2  deletes the documents of a deleted row
//
// A blank has a lower version than the document of the same rev, because both routes may lead to the same shard, where
// they are the same document, and a late blank must not replace it.
package document
