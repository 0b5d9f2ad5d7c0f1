package session

import "time"

// Stored is one file of a save as it lies in the store.
type Stored struct {
	URL    string
	SHA256 string // hexadecimal
	Size   int64
}

// Revision is one save. Number counts the saves of its session in the order in which their uploads began.
type Revision struct {
	ID           int64
	SessionID    int64
	Number       int64
	Word, PDF    Stored
	UploadedBy   Author
	UploadedAt   time.Time
	RestoredFrom int64 // the id of the revision that this one repeats, or 0
}

// Files returns the pair.
func (r *Revision) Files() Files { return Files{Word: r.Word.URL, PDF: r.PDF.URL} }

// Repeats reports whether the Word document is that of the linked save once more, and nothing can come between them: an
// upload that began after the linked save and before this one may still arrive, and must not replace what this one
// holds. The PDF does not count: a repeated conversion makes another one, with another time in it.
func (r *Revision) Repeats(linked *Revision) bool {
	return r.Number == linked.Number+1 && r.Word.SHA256 == linked.Word.SHA256
}

// Retention is which saves of a report are kept beside the linked one: the newest, and the young. 0 asks for nothing;
// when both ask for nothing everything is kept.
type Retention struct {
	Newest int
	Age    time.Duration
}

// KeepsAll reports whether nothing is ever deleted.
func (r Retention) KeepsAll() bool { return r.Newest == 0 && r.Age == 0 }

// Page is a part of a report's revisions, the newest first.
type Page struct {
	Before int64 // the id of a revision; 0 begins with the newest
	Limit  int
}

// Upload is a save under way: where its files are being stored, before any revision names them. That with the number 0
// is the copy that a session begins with, which no revision will name.
type Upload struct {
	ID        int64
	LabID     int64
	SessionID int64
	Number    int64 // the revision's number if it is linked
	WordKey   string
	PDFKey    string
	StartedAt time.Time
}

// Link makes the revision the session's files, unless a later save was linked already: uploads can overtake each other,
// and an older save must not replace a newer one. It reports whether it did.
func (s *Session) Link(r *Revision, now time.Time) bool {
	s.UpdatedAt = now
	if r.Number < s.Revision {
		return false
	}
	s.Revision, s.Files, s.SavedAt = r.Number, r.Files(), r.UploadedAt
	return true
}

// Template is a Word file that sessions may begin with.
type Template struct {
	ID     int64
	Path   string // as the table has it: a URL or a key
	Name   string
	TestID int64 // of the test that it is for, 0 for any
}
