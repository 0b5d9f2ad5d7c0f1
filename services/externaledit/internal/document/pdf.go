package document

import (
	"bytes"
	"compress/zlib"
	"io"
	"regexp"
	"strings"
)

const (
	maxCarry  = 256      // bytes that a name or keyword may need from the next write
	tailBytes = 1024     // where the end marker must be
	maxObjS   = 4 << 20  // bytes of one compressed object stream
	maxAhead  = 4096     // from the name ObjStm to its stream
	objSBytes = 64 << 20 // what all object streams of a file may inflate to
)

// PDFScanner looks at a PDF while it passes by, as an io.Writer; Finish tells the verdict. Programs and launch actions
// are found by their names: in the open, spelt with #xx, and inside compressed object streams.
type PDFScanner struct {
	pending []byte // not yet looked at
	tail    []byte // the last bytes of the file

	state     scanState
	waited    int    // bytes since the name ObjStm
	collected []byte // of an object stream
	inflated  int64

	// A file may have millions of object streams: all use these.
	inflater io.ReadCloser
	buffer   []byte
}

type scanState int

const (
	scanning   scanState = iota
	awaiting             // the stream that follows the name ObjStm
	collecting           // that stream
)

// Write implements io.Writer. It fails on what must not be stored.
func (s *PDFScanner) Write(p []byte) (int, error) {
	s.keepTail(p)
	s.pending = append(s.pending, p...)
	rest, err := s.scan(s.pending, maxCarry)
	if err != nil {
		return 0, err
	}
	s.pending = append(s.pending[:0], rest...)
	return len(p), nil
}

// Finish returns what is wrong with the whole file.
func (s *PDFScanner) Finish() error {
	if _, err := s.scan(s.pending, 0); err != nil {
		return err
	}
	if s.state == collecting {
		return errPDFDamaged
	}
	if !bytes.Contains(s.tail, []byte("%%EOF")) {
		return PDF.invalid("PDF_INCOMPLETE", "is incomplete: its end is missing; create it again")
	}
	return nil
}

func (s *PDFScanner) keepTail(p []byte) {
	if len(p) >= tailBytes {
		s.tail = append(s.tail[:0], p[len(p)-tailBytes:]...)
		return
	}
	s.tail = append(s.tail, p...)
	if extra := len(s.tail) - tailBytes; extra > 0 {
		s.tail = append(s.tail[:0], s.tail[extra:]...)
	}
}

// scan looks at data, but for the last carry bytes, and returns what it did not look at.
func (s *PDFScanner) scan(data []byte, carry int) ([]byte, error) {
	for len(data) > carry {
		var n int
		var err error
		switch s.state {
		case collecting:
			n, err = s.collect(data, carry)
		default:
			n, err = s.name(data, carry)
		}
		if err != nil {
			return nil, err
		}
		data = data[n:]
	}
	return data, nil
}

// name looks at the next name, or at the keyword that begins an awaited stream, and returns how far it came.
func (s *PDFScanner) name(data []byte, carry int) (int, error) {
	end := len(data) - carry
	next := bytes.IndexByte(data[:end], '/')
	if s.state == awaiting {
		// Only what lies before the next name is searched: a file that announces many streams has each byte looked at once.
		before := end
		if next >= 0 {
			before = next
		}
		if begin := streamBegin(data, before); begin >= 0 {
			s.state, s.collected = collecting, s.collected[:0]
			return begin, nil
		}
	}
	if next < 0 {
		next = end - 1
	} else if err := s.judge(data[next+1:]); err != nil {
		return 0, err
	}
	if s.waited += next + 1; s.state == awaiting && s.waited > maxAhead {
		s.state = scanning
	}
	return next + 1, nil
}

// judge looks at what follows a slash.
func (s *PDFScanner) judge(text []byte) error {
	if !interesting(text) {
		return nil
	}
	var name [maxName]byte
	switch string(name[:decodeName(&name, text)]) {
	case "JavaScript":
		return PDF.invalid("PDF_JAVASCRIPT", "contains JavaScript; create it without")
	case "Launch":
		return PDF.invalid("PDF_LAUNCH", "wants to start a program; create it without launch actions")
	case "Encrypt":
		return PDF.invalid("PDF_ENCRYPTED", "is encrypted; create it without a password")
	case "ObjStm":
		s.state, s.waited = awaiting, 0
	}
	return nil
}

// interesting tells by the first byte whether a name can be one of those that judge knows.
func interesting(text []byte) bool {
	return len(text) > 0 && strings.IndexByte("JLEO#", text[0]) >= 0
}

const maxName = 12 // characters; the names that matter are shorter

// decodeName puts the name at the beginning of text into name with its #xx replaced, cut short when it is long, and
// returns its length. A file may have millions of names.
func decodeName(name *[maxName]byte, text []byte) (n int) {
	for i := 0; i < len(text) && n < maxName; i++ {
		c := text[i]
		if delimiter(c) {
			break
		}
		if c == '#' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]) {
			c = unhex(text[i+1])<<4 | unhex(text[i+2])
			i += 2
		}
		name[n] = c
		n++
	}
	return n
}

func delimiter(c byte) bool { return strings.IndexByte("\x00\t\n\f\r ()<>[]{}/%", c) >= 0 }

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

var streamKeyword = []byte("stream")

// streamBegin returns where the first stream that begins before end has its data, -1 when there is none.
func streamBegin(data []byte, end int) int {
	at := bytes.Index(data[:min(end+len(streamKeyword), len(data))], streamKeyword)
	if at < 0 || at >= end {
		return -1
	}
	after := at + len(streamKeyword)
	if bytes.HasPrefix(data[after:], []byte("\r\n")) {
		return after + 2
	}
	return min(after+1, len(data))
}

var (
	errPDFUnusual = PDF.invalid("PDF_UNUSUAL",
		"is built in an unusual way that cannot be checked; create it with another program")
	endStream     = []byte("endstream")
	errPDFDamaged = PDF.invalid("PDF_DAMAGED", "is damaged: a part of it cannot be read; create it again")
)

// collect takes the data of an object stream up to its end.
func (s *PDFScanner) collect(data []byte, carry int) (int, error) {
	if at := bytes.Index(data, endStream); at >= 0 {
		if len(s.collected)+at > maxObjS {
			return at, errPDFUnusual
		}
		s.collected = append(s.collected, data[:at]...)
		s.state = scanning
		return at + len(endStream), s.objects()
	}
	n := len(data) - carry
	if carry == 0 { // the file ends inside
		return len(data), errPDFDamaged
	}
	s.collected = append(s.collected, data[:n]...)
	if len(s.collected) > maxObjS {
		return n, errPDFUnusual
	}
	return n, nil
}

var plainObjects = regexp.MustCompile(`^\s*\d+\s+\d+[\s<\[]`)

// objects looks into an object stream, as it is and inflated.
func (s *PDFScanner) objects() error {
	raw := s.collected
	if err := s.names(bytes.NewReader(raw)); err != nil {
		return err
	}
	if err := s.inflate(raw); err != nil {
		if plainObjects.Match(raw) {
			return nil
		}
		return errPDFDamaged.WithCause(err)
	}
	counted := &budgeted{r: s.inflater, used: &s.inflated}
	return s.names(counted)
}

// inflate makes the inflater read raw.
func (s *PDFScanner) inflate(raw []byte) (err error) {
	if again, ok := s.inflater.(zlib.Resetter); ok {
		return again.Reset(bytes.NewReader(raw), nil)
	}
	s.inflater, err = zlib.NewReader(bytes.NewReader(raw))
	return err
}

const bufferBytes = 32 << 10

var errPDFBomb = PDF.invalid("PDF_BOMB", "inflates to far more than a report; create it again")

// budgeted counts what all object streams of a file inflate to.
type budgeted struct {
	r    io.Reader
	used *int64
}

// Read implements io.Reader. Damage ends the text: many writers leave the checksum out.
func (b *budgeted) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	*b.used += int64(n)
	if *b.used > objSBytes {
		return 0, errPDFBomb
	}
	if err != nil {
		return n, io.EOF
	}
	return n, nil
}

// names judges every name of a text; object streams do not contain streams.
func (s *PDFScanner) names(r io.Reader) error {
	if s.buffer == nil {
		s.buffer = make([]byte, bufferBytes+maxCarry)
	}
	pending := s.buffer[:0] // has at most maxCarry bytes when more is read
	for {
		n, err := r.Read(s.buffer[len(pending) : len(pending)+bufferBytes])
		pending = s.buffer[:len(pending)+n]
		carry := maxCarry
		if err != nil {
			carry = 0
		}
		rest, refused := s.judgeAll(pending, carry)
		switch {
		case refused != nil:
			return refused
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		pending = append(pending[:0], rest...)
	}
}

// judgeAll judges the names of text but for its last carry bytes, which it returns.
func (s *PDFScanner) judgeAll(text []byte, carry int) ([]byte, error) {
	for len(text) > carry {
		next := bytes.IndexByte(text[:len(text)-carry], '/')
		if next < 0 {
			return text[len(text)-carry:], nil
		}
		text = text[next+1:]
		if err := s.judge(text); err != nil {
			return nil, err
		}
		s.state = scanning
	}
	return text, nil
}
