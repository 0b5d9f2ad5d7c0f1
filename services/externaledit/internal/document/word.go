package document

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
)

const (
	maxEntries = 10_000
	// A document may inflate to this much, and to that many times its own size more. What counts is what comes out, not
	// what the headers say.
	inflatedBytes = 64 << 20
	inflatedTimes = 10

	contentTypes = "[Content_Types].xml"
	mainPart     = "word/document.xml"
	maxTypes     = 4 << 20 // bytes of contentTypes
	embeddings   = "word/embeddings/"
	encryptedBit = 1
)

// CheckWord reads a whole .docx of size bytes. An error of r itself is returned as it is.
func CheckWord(r io.ReaderAt, size int64) error {
	source := &watched{ReaderAt: r}
	err := checkWord(source, size)
	if source.err != nil { // not the document's fault
		return source.err
	}
	return err
}

func checkWord(r io.ReaderAt, size int64) error {
	directory := &limitedDirectory{ReaderAt: r, left: maxDirectory}
	archive, err := zip.NewReader(directory, size)
	if directory.left < 0 {
		return wordInvalid("WORD_TOO_MANY_PARTS", "has too many parts")
	}
	directory.read = true
	if err != nil {
		return wordInvalid("WORD_DAMAGED", "is damaged: its list of parts cannot be read").WithCause(err)
	}
	if len(archive.File) > maxEntries {
		return wordInvalid("WORD_TOO_MANY_PARTS", "has too many parts")
	}
	seen := map[string]bool{}
	budget := int64(inflatedBytes) + inflatedTimes*size
	for _, part := range archive.File {
		if err := checkPart(part, seen); err != nil {
			return err
		}
		if budget, err = inflate(part, budget); err != nil {
			return err
		}
	}
	if !seen[contentTypes] || !seen[mainPart] {
		return wordInvalid("WORD_PART_MISSING", "is not a Word document: "+contentTypes+" or "+mainPart+" is missing")
	}
	return nil
}

// maxDirectory limits the bytes that are read for the list of parts, before any part is counted: each entry costs
// several times its size in memory.
const maxDirectory = 2 << 20

// limitedDirectory fails once too much was read for the list of parts. left is then negative.
type limitedDirectory struct {
	io.ReaderAt
	left int64
	read bool // the list was read; parts have a limit of their own
}

var errDirectory = errors.New("the list of parts is too long")

func (l *limitedDirectory) ReadAt(p []byte, at int64) (int, error) {
	if !l.read {
		if l.left -= int64(len(p)); l.left < 0 {
			return 0, errDirectory
		}
	}
	return l.ReaderAt.ReadAt(p, at)
}

// macroParts are what Word keeps programs in, in lower case.
var macroParts = []string{"vbaproject.bin", "vbadata.xml", "vbaprojectsignature.bin", "attachedtoolbars.bin"}

func checkPart(part *zip.File, seen map[string]bool) error {
	name := part.Name
	switch {
	case seen[name]:
		return wordInvalid("WORD_DAMAGED", "is damaged: it has a part twice")
	case strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") || strings.Contains("/"+name+"/", "/../"):
		return wordInvalid("WORD_PART_PATH", "has a part whose name leaves the document")
	case part.Flags&encryptedBit != 0:
		return wordInvalid("WORD_ENCRYPTED", "is encrypted; save it without a password")
	case part.Method != zip.Store && part.Method != zip.Deflate:
		return wordInvalid("WORD_DAMAGED", "is compressed in a way that Word does not use")
	}
	base := strings.ToLower(path.Base(name))
	for _, macro := range macroParts {
		if base == macro {
			return errMacro
		}
	}
	seen[name] = true
	return nil
}

var errMacro = wordInvalid("WORD_MACRO", "contains macros; save it as .docx without them")

// inflate reads a part to its end and returns what is left of the budget.
func inflate(part *zip.File, budget int64) (int64, error) {
	if part.FileInfo().IsDir() {
		return budget, nil
	}
	content, err := part.Open()
	if err != nil {
		return budget, damaged(err)
	}
	defer content.Close()
	var kept bytes.Buffer
	sink := &partSink{budget: budget, name: part.Name, kept: &kept}
	if _, err := io.Copy(struct{ io.Writer }{sink}, content); err != nil {
		return budget, damaged(err)
	}
	if part.Name == contentTypes && bytes.Contains(bytes.ToLower(kept.Bytes()), []byte("macroenabled")) {
		return budget, errMacro
	}
	return sink.budget, nil
}

// partSink counts what a part inflates to, and looks at its beginning.
type partSink struct {
	budget int64
	name   string
	kept   *bytes.Buffer // contentTypes, and the first bytes of every other part
}

var _ io.Writer = (*partSink)(nil)

func (s *partSink) Write(p []byte) (int, error) {
	s.budget -= int64(len(p))
	if s.budget < 0 {
		return 0, wordInvalid("WORD_BOMB", "inflates to far more than a report; save it again from Word")
	}
	most := len(zipSignature)
	if s.name == contentTypes {
		most = maxTypes
	}
	if room := most - s.kept.Len(); room > 0 {
		s.kept.Write(p[:min(room, len(p))])
		if bytes.HasPrefix(s.kept.Bytes(), zipSignature) && !embeddedOffice(s.name) {
			return 0, wordInvalid("WORD_NESTED_ARCHIVE", "contains an archive; remove the embedded file")
		}
	}
	return len(p), nil
}

var zipSignature = []byte("PK\x03\x04")

// embeddedOffice reports whether a part is a document inside the document, as the workbook behind a chart: these are
// archives too, and allowed.
func embeddedOffice(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".xlsx", ".docx", ".pptx":
		return strings.HasPrefix(name, embeddings)
	}
	return false
}

// damaged keeps a refusal and explains everything else: the archive reader's errors are about the file.
func damaged(err error) error {
	if refused, ok := apperr.From(err); ok {
		return refused
	}
	return wordInvalid("WORD_DAMAGED", "is damaged: a part of it cannot be read").WithCause(err)
}

func wordInvalid(reason, problem string) *apperr.Error { return Word.invalid(reason, problem) }

// watched remembers an error of the source, which must not be taken for damage.
type watched struct {
	io.ReaderAt
	err error
}

var _ io.ReaderAt = (*watched)(nil)

func (w *watched) ReadAt(p []byte, offset int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
