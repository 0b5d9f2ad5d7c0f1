package document

// Entry is a document as the index holds it.
type Entry struct {
	UserID  int64
	Route   int64 // the laboratory under which it was written
	LabID   int64 // the laboratory that it speaks of
	Version int64
	Deleted bool   // a stub
	Source  []byte // JSON as it was sent
}
