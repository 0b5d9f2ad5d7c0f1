package document

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"errors"
	"io"
)

const (
	maxObjS   = 4 << 20  // maximum bytes of one object stream as stored
	objSBytes = 64 << 20 // maximum bytes of all inflated object streams of a file
)

// PDFScanner checks a PDF while it is written to the scanner. Write and Finish return the result. It parses objects as
// a PDF reader does, including those in compressed object streams, so that words in texts, links, comments or pictures
// do not count. It needs no cross-reference table.
type PDFScanner struct {
	file, inner pdfLexer
	verdict     pdfVerdict
	object      pdfObject
	stream      pdfObject // the object stream being collected
	index       pdfIndex
	objects     int
	complete    bool  // an end mark followed the last object
	damage      error // reported by Finish, because all object streams of an encrypted file look damaged

	collecting bool
	collected  []byte // data of the object stream being collected
	inflated   int64

	// Shared by all object streams, because a file may have millions of them.
	inflater io.ReadCloser
	buffer   []byte
}

// Write checks the next bytes. It returns an error once the file contains something that must not be stored.
func (s *PDFScanner) Write(p []byte) (int, error) {
	if s.file.emit == nil {
		s.file.emit, s.inner = s.take, pdfLexer{flat: true, emit: s.takeInner}
	}
	for at := 0; at < len(p); {
		read := s.file.write
		if s.collecting {
			read = s.collect
		}
		n, err := read(p[at:])
		if at += n; err != nil {
			return at, err
		}
	}
	return len(p), nil
}

// Finish returns an error if the whole file is damaged or incomplete.
func (s *PDFScanner) Finish() error {
	if !s.collecting {
		if _, err := s.Write([]byte("\n")); err != nil { // ends the last token
			return err
		}
	}
	switch {
	case s.damage != nil:
		return s.damage
	case s.collecting:
		return errPDFDamaged
	case !s.complete || s.objects == 0:
		return PDF.invalid("PDF_INCOMPLETE", "is incomplete: its end is missing; create it again")
	}
	return nil
}

// take updates the state of the structure and checks the event.
func (s *PDFScanner) take(event pdfEvent) error {
	name := ""
	switch event {
	case pdfObjectBegins:
		s.object, s.complete = pdfObject{}, false
		s.objects++
	case pdfEndMark:
		s.complete = true
	case pdfStreamBegins:
		s.streamBegins()
	case pdfName:
		name = s.file.name()
		s.object.name(name)
	default:
		if s.object.key != noKey {
			s.object.value(s.file.text())
		}
	}
	return s.verdict.take(event, name)
}

func (s *PDFScanner) takeInner(event pdfEvent) error {
	name := ""
	if event == pdfName {
		name = s.inner.name()
	}
	return s.verdict.take(event, name)
}

// streamBegins starts to collect the data if the object is an object stream. Some writers omit its type.
func (s *PDFScanner) streamBegins() {
	s.stream, s.object = s.object, pdfObject{}
	switch {
	case !s.stream.isObjectStream():
	case !s.stream.isReadable():
		s.damage = errPDFUnusual
	default:
		s.collecting, s.file.pause, s.collected = true, true, s.collected[:0]
		s.file.state = pdfPlain
	}
}

// pdfVerdict detects forbidden content in a sequence of events.
type pdfVerdict struct {
	last                     string // the previous name
	rendition, script        bool   // an action that may have a script; a script stored in another object
	fileSpecification, files bool   // a file specification; embedded files in another object
}

var (
	errPDFScript = PDF.invalid("PDF_JAVASCRIPT", "contains JavaScript; create it without")
	errPDFFile   = PDF.invalid("PDF_EMBEDDED_FILE", "contains an embedded file; create it without attachments")
)

func (v *pdfVerdict) take(event pdfEvent, name string) error {
	before := v.last
	v.last = ""
	switch {
	case event == pdfName:
		return v.name(name)
	case before == "JS" && event == pdfString:
		return errPDFScript
	case before == "EF" && event == pdfDictionary:
		return errPDFFile
	}
	v.script = v.script || before == "JS"
	v.files = v.files || before == "EF"
	return v.both()
}

func (v *pdfVerdict) both() error {
	switch {
	case v.script && v.rendition:
		return errPDFScript
	case v.files && v.fileSpecification:
		return errPDFFile
	}
	return nil
}

func (v *pdfVerdict) name(name string) error {
	v.last = name
	switch name {
	case "JavaScript":
		return errPDFScript
	case "Launch":
		return PDF.invalid("PDF_LAUNCH", "wants to start a program; create it without launch actions")
	case "Encrypt":
		return PDF.invalid("PDF_ENCRYPTED", "is encrypted; create it without a password")
	case "EmbeddedFile":
		return errPDFFile
	case "Rendition":
		v.rendition = true
	case "Filespec", "UF":
		v.fileSpecification = true
	}
	return v.both()
}

var (
	errPDFUnusual = PDF.invalid("PDF_UNUSUAL",
		"is built in an unusual way that cannot be checked; create it with another program")
	endStream     = []byte("endstream")
	errPDFDamaged = PDF.invalid("PDF_DAMAGED", "is damaged: a part of it cannot be read; create it again")
	errPDFBomb    = PDF.invalid("PDF_BOMB", "inflates to far more than a report; create it again")
)

// collect appends data to the object stream, up to its end, and returns how many bytes it used.
func (s *PDFScanner) collect(p []byte) (int, error) {
	before := len(s.collected)
	s.collected = append(s.collected, p[:min(len(p), maxObjS+len(endStream)-before)]...)
	from := max(0, before-len(endStream)+1) // the end mark may have begun in the previous piece
	at := bytes.Index(s.collected[from:], endStream)
	if at < 0 {
		if len(s.collected) >= maxObjS+len(endStream) {
			return 0, errPDFUnusual
		}
		return len(p), nil
	}
	end := from + at
	s.collecting = false
	data := bytes.TrimPrefix(bytes.TrimPrefix(s.collected[:end], []byte("\r")), []byte("\n"))
	return end + len(endStream) - before, s.objectStream(data)
}

// objectStream checks the objects of a complete object stream.
func (s *PDFScanner) objectStream(raw []byte) error {
	if s.stream.filters == 0 {
		return s.names(bytes.NewReader(raw))
	}
	if err := s.inflate(raw); err != nil {
		s.damage = errPDFDamaged.WithCause(err)
		return nil
	}
	left := objSBytes - s.inflated
	counted := &budgeted{r: s.inflater, left: &left, spent: errPDFBomb}
	err := s.names(counted)
	s.inflated = objSBytes - left
	return err
}

// inflate starts to inflate raw. It does not verify the checksum, which many writers omit.
func (s *PDFScanner) inflate(raw []byte) error {
	const head, deflate, dictionary, check = 2, 8, 1 << 5, 31
	if len(raw) < head || raw[0]&0xf != deflate || raw[1]&dictionary != 0 || (int(raw[0])<<8|int(raw[1]))%check != 0 {
		return zlib.ErrHeader
	}
	data := bytes.NewReader(raw[head:])
	if again, ok := s.inflater.(flate.Resetter); ok {
		return again.Reset(data, nil)
	}
	s.inflater = flate.NewReader(data)
	return nil
}

const bufferBytes = 32 << 10

// names checks the objects of an object stream, which cannot contain streams. The data must be complete and its objects
// must not overlap. Otherwise a PDF reader might see content that the scanner does not.
func (s *PDFScanner) names(r io.Reader) error {
	if s.buffer == nil {
		s.buffer = make([]byte, bufferBytes)
	}
	s.inner = pdfLexer{flat: true, emit: s.inner.emit}
	s.index = pdfIndex{first: s.stream.first, digits: s.index.digits[:0], places: s.index.places[:0]}
	for {
		n, err := r.Read(s.buffer)
		if errors.Is(err, errPDFBomb) {
			return err
		}
		if refused := s.objectsOf(s.buffer[:n]); refused != nil {
			return refused
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) || !s.index.isComplete() || !s.inner.isBetween('\n') || s.stream.firsts == 0 {
			s.damage = errPDFDamaged.WithCause(err)
		}
		_, refused := s.inner.write([]byte{'\n'}) // ends the last token
		return refused
	}
}

func (s *PDFScanner) objectsOf(p []byte) error {
	for len(p) > 0 {
		n := s.index.piece(p, &s.inner)
		if _, err := s.inner.write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
