package document

import (
	"bytes"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Kind is one of the two files of a save.
type Kind struct {
	Field       string // of the form
	Title       string // for people
	Extension   string
	ContentType string
	FileName    string // of the object
	MaxBytes    int64
	Tolerated   string // another content type that clients without a table of types send
	signature   func(head []byte) bool
}

// The two kinds and their documented limits.
var (
	Word = Kind{
		Field: "word_file", Title: "the Word document", Extension: ".docx", FileName: "report.docx", MaxBytes: 50 << 20,
		ContentType: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		Tolerated:   "application/octet-stream",
		signature:   func(head []byte) bool { return bytes.HasPrefix(head, zipSignature) },
	}
	PDF = Kind{
		Field: "pdf_file", Title: "the PDF", Extension: ".pdf", FileName: "report.pdf", MaxBytes: 100 << 20,
		ContentType: "application/pdf",
		signature:   func(head []byte) bool { return bytes.Contains(head, []byte("%PDF-")) },
	}
)

// HeadBytes is how much of a file CheckHead wants to see.
const HeadBytes = 1024

// KindOf returns the kind of a form's field.
func KindOf(field string) (Kind, bool) {
	for _, k := range []Kind{Word, PDF} {
		if k.Field == field {
			return k, true
		}
	}
	return Kind{}, false
}

const maxNameBytes = 255 // what file systems take

// CheckName refuses names that are none or that carry a path, and other extensions. The name is used for nothing else.
func (k Kind) CheckName(name string) error {
	switch {
	case name == "":
		return k.invalid("FILE_NAME_MISSING", "needs a file name that ends with "+k.Extension)
	case len(name) > maxNameBytes:
		return k.invalid("FILE_NAME_TOO_LONG", "has a file name of more than 255 bytes; shorten it")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, forbidden):
		return k.invalid("FILE_NAME_INVALID", "has a file name with a path or control characters; send the plain name")
	case !strings.EqualFold(path.Ext(name), k.Extension):
		return k.invalid("FILE_TYPE_INVALID", "must be a "+k.Extension+" file")
	}
	return nil
}

func forbidden(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`/\`, r) }

// CheckContentType refuses declared types that are not the kind's.
func (k Kind) CheckContentType(declared string) error {
	media, _, err := mime.ParseMediaType(declared)
	if err != nil || (media != k.ContentType && media != k.Tolerated) {
		return k.invalid("CONTENT_TYPE_INVALID", "must be sent with the content type "+k.ContentType)
	}
	return nil
}

var oldOffice = []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")

// CheckHead refuses a file by its first bytes, before anything of it is stored.
func (k Kind) CheckHead(head []byte) error {
	switch {
	case len(head) == 0:
		return k.invalid("FILE_EMPTY", "is empty")
	case k.signature(head):
		return nil
	case k.Field == Word.Field && bytes.HasPrefix(head, oldOffice):
		return k.invalid("WORD_ENCRYPTED",
			"is protected by a password or in the format before .docx; save it as a plain .docx")
	}
	return k.invalid("SIGNATURE_INVALID", "is not a "+k.Extension+" file, whatever its name says")
}

// TooLarge is what a file above the limit gets.
func (k Kind) TooLarge() error {
	return k.invalid("FILE_TOO_LARGE", fmt.Sprintf("is larger than %d MB; remove large pictures and save it again", k.MaxBytes>>20))
}

// Missing is what a form without the file gets.
func (k Kind) Missing() error { return k.invalid("FILE_MISSING", "is missing; send it as "+k.Field) }

// Repeated is what a form with two files of the kind gets.
func (k Kind) Repeated() error {
	return k.invalid("FILE_REPEATED", "was sent twice; send one "+k.Field)
}

// invalid words a refusal: "the Word document is empty".
func (k Kind) invalid(reason, problem string) *apperr.Error {
	e := apperr.InvalidField(k.Field, k.Field+": "+k.Title+" "+problem)
	e.Reason = reason
	return e
}
