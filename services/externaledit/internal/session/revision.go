package session

import "time"

// Stored is one stored file of a save.
type Stored struct {
	URL    string
	SHA256 string // in hexadecimal
	Size   int64
}

// Revision is one save. Number counts the saves of a session in the order in which their uploads began.
type Revision struct {
	ID           int64
	SessionID    int64
	Number       int64
	Word, PDF    Stored
	UploadedBy   Author
	UploadedAt   time.Time
	RestoredFrom int64 // id of the revision whose files it restored; 0 for uploads
	Moved        bool  // the report belongs to another person now than when the session began
}

// Files returns the URLs of both files.
func (r *Revision) Files() Files { return Files{Word: r.Word.URL, PDF: r.PDF.URL} }

// Repeats reports whether the Word document equals that of the linked save, and no upload between them can still
// arrive. An upload that began after the linked save and before this one must not replace the content that this one
// states. The PDF is not compared, because repeating a conversion gives another PDF with another time in it.
func (r *Revision) Repeats(linked *Revision) bool {
	return r.Number == linked.Number+1 && r.Word.SHA256 == linked.Word.SHA256
}

// Retention defines which saves of a report are kept in addition to the linked one: the newest, and those up to an age.
// 0 sets no minimum; if both are 0, all saves are kept.
type Retention struct {
	Newest int
	Age    time.Duration
}

// KeepsAll reports whether no save is ever deleted.
func (r Retention) KeepsAll() bool { return r.Newest == 0 && r.Age == 0 }

// Page selects a part of a report's revisions, the newest first.
type Page struct {
	Before int64 // id of the revision before which the page begins; 0: begin with the newest
	Limit  int
}

// Upload is a save in progress: the keys under which its files are stored before a revision names them. An upload with
// Number 0 is the copy with which a session begins; no revision will name it.
type Upload struct {
	ID        int64
	LabID     int64
	SessionID int64
	Number    int64 // Number of the revision if it is linked
	WordKey   string
	PDFKey    string
	StartedAt time.Time
}

// Link makes the revision the session's linked save, unless a later save was linked already. Uploads can overtake each
// other, and an older save must not replace a newer one. It reports whether it linked the revision.
func (s *Session) Link(r *Revision, now time.Time) bool {
	s.UpdatedAt = now
	if r.Number < s.Revision {
		return false
	}
	s.Revision, s.Files, s.SavedAt = r.Number, r.Files(), r.UploadedAt
	return true
}

// Template is a Word file with which sessions may begin.
type Template struct {
	ID     int64
	Path   string // a URL or a key, as stored
	Name   string
	TestID int64 // test for which it is meant; 0 for any test
}
