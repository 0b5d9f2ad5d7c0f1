package document

// Entry is a document as stored in the index.
type Entry struct {
	UserID  int64
	Route   int64 // routing value: the laboratory under which it was written
	LabID   int64 // laboratory in the document
	Version int64
	Deleted bool   // the document is a stub
	Source  []byte // stored JSON
}
