package labjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth limits the nesting of objects and lists, including free-form values.
const maxDepth = 100

// decoder reads one JSON text from start to end. Methods expect pos at the first byte of what they read and leave it
// after the last byte.
type decoder struct {
	data  []byte
	wire  []byte // wire format of the plain fields of the open messages, see wire.go
	pos   int
	depth int
}

func (d *decoder) syntax(problem string) error {
	return &SyntaxError{Offset: d.pos, Problem: problem}
}

func (d *decoder) invalid() error {
	if d.pos >= len(d.data) {
		return d.syntax("is JSON that ends too early")
	}
	return d.syntax("is not valid JSON")
}

// document reads the whole text with value and returns an error if anything but whitespace follows.
func (d *decoder) document(value func() error) error {
	if bytes.HasPrefix(d.data, []byte("\ufeff")) {
		return d.syntax("begins with a byte order mark; send it without")
	}
	if !utf8.Valid(d.data) {
		return d.notUTF8()
	}
	d.space()
	if d.pos == len(d.data) {
		return d.syntax("is empty; send a JSON value")
	}
	if err := value(); err != nil {
		return err
	}
	d.space()
	if d.pos != len(d.data) {
		return d.syntax("has something behind its JSON value")
	}
	return nil
}

// notUTF8 returns an error with the place of the first byte that is not UTF-8.
func (d *decoder) notUTF8() error {
	for {
		r, size := utf8.DecodeRune(d.data[d.pos:])
		if r == utf8.RuneError && size <= 1 {
			return d.syntax("is not UTF-8 text")
		}
		d.pos += size
	}
}

func (d *decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end. (No caller accepts a NUL in the text.)
func (d *decoder) peek() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// enter opens an object or list, leave closes it. The caller has checked the bracket at pos.
func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return d.syntax("is nested too deeply")
	}
	d.pos++
	d.space()
	return nil
}

func (d *decoder) leave() {
	d.depth--
	d.pos++
}

// more is called after an element. It skips a comma and returns true, or returns false at the closing bracket.
func (d *decoder) more(closing byte) (bool, error) {
	d.space()
	switch d.peek() {
	case ',':
		d.pos++
		d.space()
		return true, nil
	case closing:
		return false, nil
	default:
		return false, d.invalid()
	}
}

func (d *decoder) literal(word string) error {
	if !bytes.HasPrefix(d.data[d.pos:], []byte(word)) {
		return d.invalid()
	}
	d.pos += len(word)
	return nil
}

// null skips a null and reports whether there was one.
func (d *decoder) null() (bool, error) {
	if d.peek() != 'n' {
		return false, nil
	}
	return true, d.literal("null")
}

// key reads a name and its colon. The result is valid while the text is unchanged.
func (d *decoder) key() ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.invalid()
	}
	name, err := d.text()
	if err != nil {
		return nil, err
	}
	d.space()
	if d.peek() != ':' {
		return nil, d.invalid()
	}
	d.pos++
	d.space()
	return name, nil
}

// text reads a string. Without escapes the result is a slice of the body; callers must copy what they keep.
func (d *decoder) text() ([]byte, error) {
	start := d.pos + 1
	for i := start; i < len(d.data); i++ {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			return d.data[start:i:i], nil
		case c == '\\':
			d.pos = i
			return d.escapedText(append([]byte(nil), d.data[start:i]...))
		case c < ' ':
			d.pos = i
			return nil, d.invalid()
		}
	}
	d.pos = len(d.data)
	return nil, d.invalid()
}

func (d *decoder) escapedText(out []byte) ([]byte, error) {
	for d.pos < len(d.data) {
		c := d.data[d.pos]
		switch {
		case c == '"':
			d.pos++
			return out, nil
		case c == '\\':
			var err error
			if out, err = d.escape(out); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, d.invalid()
		default:
			out = append(out, c)
			d.pos++
		}
	}
	return nil, d.invalid()
}

func (d *decoder) escape(out []byte) ([]byte, error) {
	if d.pos++; d.pos >= len(d.data) {
		return nil, d.invalid()
	}
	c := d.data[d.pos]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, err := d.unicode()
		return utf8.AppendRune(out, r), err
	default:
		return nil, d.invalid()
	}
	d.pos++
	return append(out, c), nil
}

// unicode reads u and four hexadecimal digits, and the second half of a surrogate pair; a single half is an error.
func (d *decoder) unicode() (rune, error) {
	r, err := d.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if d.pos+1 >= len(d.data) || d.data[d.pos] != '\\' || d.data[d.pos+1] != 'u' {
		return 0, d.syntax("has half a character in a text")
	}
	d.pos++
	low, err := d.hex4()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, d.syntax("has half a character in a text")
	}
	return r, nil
}

func (d *decoder) hex4() (rune, error) {
	if d.pos+5 > len(d.data) {
		d.pos = len(d.data)
		return 0, d.invalid()
	}
	var r rune
	for _, c := range d.data[d.pos+1 : d.pos+5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, d.invalid()
		}
	}
	d.pos += 5
	return r, nil
}

// number reads a JSON number and returns its text.
func (d *decoder) number() ([]byte, error) {
	start := d.pos
	if d.peek() == '-' {
		d.pos++
	}
	if d.peek() == '0' {
		d.pos++
	} else if d.digits() == 0 {
		return nil, d.invalid()
	}
	if d.peek() == '.' {
		d.pos++
		if d.digits() == 0 {
			return nil, d.invalid()
		}
	}
	if d.peek()|0x20 == 'e' {
		d.pos++
		if c := d.peek(); c == '+' || c == '-' {
			d.pos++
		}
		if d.digits() == 0 {
			return nil, d.invalid()
		}
	}
	return d.data[start:d.pos], nil
}

func (d *decoder) digits() int {
	start := d.pos
	for d.pos < len(d.data) && d.data[d.pos]-'0' <= 9 {
		d.pos++
	}
	return d.pos - start
}
