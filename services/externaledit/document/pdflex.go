package document

import (
	"bytes"
	"encoding/hex"
)

// pdfEvent is a token or mark that a lexer found.
type pdfEvent int

const (
	pdfName pdfEvent = iota // a name; pdfLexer.name returns it
	pdfString
	pdfDictionary
	pdfOther        // any other token
	pdfObjectBegins // "1 0 obj"
	pdfStreamBegins
	pdfEndMark // "%%EOF" or "startxref"
)

type pdfState int

const (
	pdfPlain    pdfState = iota
	pdfInName            // after the slash
	pdfInWord            // a keyword or a number
	pdfInText            // ( … )
	pdfInHex             // < … >
	pdfInAngle           // after the first <
	pdfInRemark          // % …
	pdfInStream
)

const maxToken = 64 // maximum bytes kept of a token; all relevant names are shorter

// pdfLexer splits a PDF into tokens. PDF readers find objects by their offsets in the file, so an object begins at
// every keyword obj, even within a text, a comment or the data of a stream.
type pdfLexer struct {
	emit   func(pdfEvent) error
	flat   bool // reads an object stream, which contains neither streams nor the keywords of objects
	pause  bool // set by emit: write returns after this byte
	state  pdfState
	depth  int // of nested parentheses
	escape bool
	token  [maxToken]byte
	length int
	recent uint64 // the last eight bytes
}

const (
	lastThree   = 1<<24 - 1
	lastFive    = 1<<40 - 1
	recentObj   = 'o'<<16 | 'b'<<8 | 'j'
	recentEOF   = '%'<<32 | '%'<<24 | 'E'<<16 | 'O'<<8 | 'F'
	recentNdStr = 'n'<<56 | 'd'<<48 | 's'<<40 | 't'<<32 | 'r'<<24 | 'e'<<16 | 'a'<<8 | 'm'
)

// write reads p to its end or to a pause. It returns how many bytes it read.
func (l *pdfLexer) write(p []byte) (int, error) {
	for i := 0; i < len(p); i++ {
		if l.state == pdfInStream {
			if i = l.skip(p, i); i == len(p) {
				break
			}
		}
		c := p[i]
		l.recent = l.recent<<8 | uint64(c)
		marked, err := l.mark(c)
		if err == nil && !marked {
			err = l.step(c)
		}
		if err != nil || l.pause {
			l.pause = false
			return i + 1, err
		}
	}
	return len(p), nil
}

// streamMarks are the keywords that mark looks for in the data of a stream.
var streamMarks = [][]byte{[]byte("obj"), []byte("%%EOF"), []byte("ndstream")}

const (
	longestMark = 8
	skipBytes   = 1 << 10 // bounds the cost of a file that has one keyword after the other
)

// skip returns the next position, from i on, at which a keyword in the data of a stream may end. It is fast, because
// most bytes of a report are pictures.
func (l *pdfLexer) skip(p []byte, i int) int {
	if i < longestMark { // a keyword may have begun in the previous piece
		return i
	}
	next := min(len(p), i+skipBytes)
	for _, mark := range streamMarks {
		from := i - len(mark) + 1
		if at := bytes.Index(p[from:next], mark); at >= 0 {
			next = from + at + len(mark) - 1
		}
	}
	for _, c := range p[max(i, next-longestMark):next] {
		l.recent = l.recent<<8 | uint64(c)
	}
	return next
}

// mark recognizes the keywords that count anywhere in the file.
func (l *pdfLexer) mark(c byte) (bool, error) {
	switch {
	case l.flat:
		return false, nil
	case c == 'j' && l.recent&lastThree == recentObj:
		before := byte(l.recent >> 24)
		if isPDFSpace(before) || isDigit(before) {
			l.state = pdfPlain
			return true, l.emit(pdfObjectBegins)
		}
		if l.state == pdfInStream && before == 'd' { // endobj without the end of the stream
			l.state = pdfPlain
		}
	case c == 'F' && l.recent&lastFive == recentEOF:
		return false, l.emit(pdfEndMark)
	case c == 'm' && l.state == pdfInStream && l.recent == recentNdStr:
		l.state = pdfPlain
	}
	return false, nil
}

func (l *pdfLexer) step(c byte) error {
	switch l.state {
	case pdfPlain:
		return l.plain(c)
	case pdfInName, pdfInWord:
		return l.word(c)
	case pdfInText:
		return l.inText(c)
	case pdfInHex:
		if c == '>' {
			l.state = pdfPlain
		}
	case pdfInAngle:
		return l.angle(c)
	case pdfInRemark:
		if c == '\n' || c == '\r' {
			l.state = pdfPlain
		}
	}
	return nil
}

func (l *pdfLexer) plain(c byte) error {
	l.length = 0
	switch c {
	case '/':
		l.state = pdfInName
	case '(':
		l.state, l.depth, l.escape = pdfInText, 1, false
		return l.emit(pdfString)
	case '<':
		l.state = pdfInAngle
	case '%':
		l.state = pdfInRemark
	case '>', '[', ']', '{', '}', ')':
		l.keep(c)
		return l.emit(pdfOther)
	default:
		if !isPDFSpace(c) {
			l.state = pdfInWord
			l.keep(c)
		}
	}
	return nil
}

func (l *pdfLexer) keep(c byte) {
	if l.length < maxToken {
		l.token[l.length] = c
	}
	l.length++
}

func (l *pdfLexer) word(c byte) error {
	if !isPDFSpace(c) && !isPDFDelimiter(c) {
		l.keep(c)
		return nil
	}
	name := l.state == pdfInName
	l.state = pdfPlain
	event := pdfOther
	if name {
		event = pdfName
	} else if !l.flat && l.length <= maxToken {
		switch string(l.token[:l.length]) {
		case "stream":
			l.state = pdfInStream
			return l.emit(pdfStreamBegins)
		case "startxref":
			event = pdfEndMark
		}
	}
	if err := l.emit(event); err != nil {
		return err
	}
	return l.plain(c)
}

func (l *pdfLexer) inText(c byte) error {
	switch {
	case l.escape:
		l.escape = false
	case c == '\\':
		l.escape = true
	case c == '(':
		l.depth++
	case c == ')':
		if l.depth--; l.depth == 0 {
			l.state = pdfPlain
		}
	}
	return nil
}

func (l *pdfLexer) angle(c byte) error {
	if c == '<' {
		l.state = pdfPlain
		return l.emit(pdfDictionary)
	}
	l.state = pdfInHex
	if c == '>' {
		l.state = pdfPlain
	}
	return l.emit(pdfString)
}

// isBetween reports whether an object that begins with the byte c may begin at the present position.
func (l *pdfLexer) isBetween(c byte) bool {
	switch l.state {
	case pdfPlain:
		return true
	case pdfInName, pdfInWord:
		return isPDFSpace(c) || isPDFDelimiter(c)
	}
	return false
}

// text returns the last token, or "" if it is longer than maxToken.
func (l *pdfLexer) text() string {
	if l.length > maxToken {
		return ""
	}
	return string(l.token[:l.length])
}

// name returns the last name with its #xx escapes decoded, or "" if it is longer than maxToken.
func (l *pdfLexer) name() string {
	if l.length > maxToken {
		return ""
	}
	raw := l.token[:l.length]
	var name [maxToken]byte
	n := 0
	for i := 0; i < len(raw); i++ {
		name[n] = raw[i]
		if raw[i] == '#' && i+2 < len(raw) {
			if _, err := hex.Decode(name[n:n+1], raw[i+1:i+3]); err == nil {
				i += 2
			}
		}
		n++
	}
	return string(name[:n])
}

func isPDFSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isPDFDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
