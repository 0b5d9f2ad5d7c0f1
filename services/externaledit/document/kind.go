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

// Kind describes one of the two files of a save.
type Kind struct {
	Field       string // form field of the file
	Title       string // name in messages
	Extension   string
	ContentType string
	FileName    string // name of the stored object
	MaxBytes    int64
	Tolerated   string // another accepted content type, sent by clients that cannot look up the right one
	signature   func(head []byte) bool
}

// The two kinds with their documented limits.
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

// HeadBytes is how many bytes of a file's beginning CheckHead needs.
const HeadBytes = 1024

// KindOf returns the kind whose file a form field carries; ok is false for other fields.
func KindOf(field string) (Kind, bool) {
	for _, k := range []Kind{Word, PDF} {
		if k.Field == field {
			return k, true
		}
	}
	return Kind{}, false
}

const maxNameBytes = 255 // the limit of common file systems

// CheckName rejects empty and invalid names, names with a path, and other extensions. The name is not used otherwise.
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

// CheckContentType rejects a declared content type that does not fit the kind.
func (k Kind) CheckContentType(declared string) error {
	media, _, err := mime.ParseMediaType(declared)
	if err != nil || (media != k.ContentType && media != k.Tolerated) {
		return k.invalid("CONTENT_TYPE_INVALID", "must be sent with the content type "+k.ContentType)
	}
	return nil
}

var oldOffice = []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")

// CheckHead checks the first bytes of a file, so that a wrong file is rejected before it is stored.
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

// TooLarge returns the error for a file above the limit.
func (k Kind) TooLarge() error {
	return k.invalid("FILE_TOO_LARGE", fmt.Sprintf("is larger than %d MB; remove large pictures and save it again", k.MaxBytes>>20))
}

// Missing returns the error for a form without the file.
func (k Kind) Missing() error { return k.invalid("FILE_MISSING", "is missing; send it as "+k.Field) }

// Repeated returns the error for a form with two files of the kind.
func (k Kind) Repeated() error {
	return k.invalid("FILE_REPEATED", "was sent twice; send one "+k.Field)
}

// invalid returns an error about the file. problem continues a sentence: "the Word document is empty".
func (k Kind) invalid(reason, problem string) *apperr.Error {
	e := apperr.InvalidField(k.Field, k.Field+": "+k.Title+" "+problem)
	e.Reason = reason
	return e
}
