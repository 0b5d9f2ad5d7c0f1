package document

import (
	"bufio"
	"bytes"
	"errors"
	"html"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// Limits of what is kept in memory of a part. A part as a whole may be longer.
const (
	maxXMLName  = 256
	maxXMLDepth = 4096
	maxXMLValue = 2048 // bytes kept of an attribute's value; the rest is skipped
	maxXMLAttrs = 256
	maxPrefixes = 256 // maximum of prefixes that open elements declare with a changed meaning
)

var errXML = errors.New("the XML is not well-formed")

// element is the start of an element. It is valid until the next one.
type element struct {
	local string // name without the prefix
	space string // the namespace
	attrs []xmlAttr
	in    *xmlScanner
}

// attr returns the value of an attribute without a prefix. Such attributes belong to no namespace.
func (e *element) attr(local string) string {
	for _, a := range e.attrs {
		if string(a.name) == local {
			return html.UnescapeString(string(a.value))
		}
	}
	return ""
}

// wordAttr returns the value of an attribute of WordprocessingML. cut is true if the value may be longer than what was
// kept.
func (e *element) wordAttr(local string) (value string, cut bool) {
	for _, a := range e.attrs {
		if prefix, name := splitName(a.name); len(prefix) > 0 && string(name) == local && isWordML(e.in.space(prefix)) {
			return html.UnescapeString(string(a.value)), len(a.value) == maxXMLValue
		}
	}
	return "", false
}

type xmlAttr struct{ name, value []byte }

// xmlHandler receives the content of a part. A text may come in several pieces.
type xmlHandler interface {
	start(e *element) error
	end(local string) error
	text(p []byte) error
}

// binding is the previous meaning of a prefix that the element at a depth has redefined.
type binding struct {
	depth         int
	prefix, space string
}

// xmlScanner parses a part of any size in bounded memory. It accepts well-formed XML without a DTD, which Office
// documents may not have.
type xmlScanner struct {
	r        *bufio.Reader
	handle   xmlHandler
	names    []byte            // concatenated names of the open elements
	open     []int             // start of each open element's name in names
	spaces   map[string]string // namespace by prefix
	bindings []binding         // meanings to restore in spaces when elements end
	values   []byte
	element  element
	rooted   bool
	chunk    []byte
	known    map[string]string // interned names, so that each string is allocated once
}

// scanXML parses r to its end and passes its content to handle.
func scanXML(r io.Reader, handle xmlHandler) error {
	const size = 32 << 10
	buffered := bufio.NewReaderSize(utf8Reader(r), size)
	x := &xmlScanner{r: buffered, handle: handle, spaces: map[string]string{}, known: map[string]string{}}
	if mark, err := x.r.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = x.r.Discard(len(byteOrderMark)) // cannot fail after Peek
	}
	for {
		c, err := x.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return x.finish()
		}
		if err != nil {
			return err
		}
		if c == '<' {
			err = x.markup()
		} else {
			err = x.character(c)
		}
		if err != nil {
			return unexpected(err)
		}
	}
}

// unexpected replaces io.EOF by errXML: the part ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return errXML
	}
	return err
}

func (x *xmlScanner) finish() error {
	if err := x.flush(); err != nil {
		return err
	}
	if !x.rooted || len(x.open) > 0 {
		return errXML
	}
	return nil
}

const textChunk = 1024

func (x *xmlScanner) character(c byte) error {
	switch {
	case len(x.open) == 0 && !isSpace(c), c == 0:
		return errXML
	case c == '&':
		return x.entity()
	}
	x.chunk = append(x.chunk, c)
	if len(x.chunk) >= textChunk {
		return x.flush()
	}
	return nil
}

func (x *xmlScanner) flush() error {
	if len(x.chunk) == 0 {
		return nil
	}
	err := x.handle.text(x.chunk)
	x.chunk = x.chunk[:0]
	return err
}

// entity reads a character reference. Without a DTD, there are five names, and numbers.
func (x *xmlScanner) entity() error {
	const longest = 12
	reference := make([]byte, 1, longest)
	reference[0] = '&'
	for len(reference) < longest {
		c, err := x.r.ReadByte()
		if err != nil {
			return err
		}
		if reference = append(reference, c); c != ';' {
			continue
		}
		switch string(reference) {
		case "&lt;", "&gt;", "&amp;", "&quot;", "&apos;":
		default:
			if reference[1] != '#' {
				return errXML
			}
		}
		text := html.UnescapeString(string(reference))
		if text == string(reference) {
			return errXML
		}
		x.chunk = append(x.chunk, text...)
		return nil
	}
	return errXML
}

func (x *xmlScanner) markup() error {
	if err := x.flush(); err != nil {
		return err
	}
	c, err := x.r.ReadByte()
	if err != nil {
		return err
	}
	switch c {
	case '?':
		return x.skip("?>", nil)
	case '!':
		return x.declaration()
	case '/':
		return x.closing()
	}
	if err := x.r.UnreadByte(); err != nil {
		return err
	}
	return x.opening()
}

func (x *xmlScanner) declaration() error {
	if begin, err := x.r.Peek(len("--")); err != nil {
		return err
	} else if string(begin) == "--" {
		_, _ = x.r.Discard(len(begin)) // cannot fail after Peek
		return x.skip("-->", nil)
	}
	const cdata = "[CDATA["
	if begin, err := x.r.Peek(len(cdata)); err != nil || string(begin) != cdata || len(x.open) == 0 {
		return errXML
	}
	_, _ = x.r.Discard(len(cdata)) // cannot fail after Peek
	return x.skip("]]>", x.handle.text)
}

// skip reads to the end of the mark, and passes the skipped bytes to take unless it is nil.
func (x *xmlScanner) skip(mark string, take func([]byte) error) error {
	last := make([]byte, 0, 2*textChunk)
	for {
		c, err := x.r.ReadByte()
		if err != nil {
			return err
		}
		last = append(last, c)
		if c == mark[len(mark)-1] && bytes.HasSuffix(last, []byte(mark)) {
			if take == nil {
				return nil
			}
			return take(last[:len(last)-len(mark)])
		}
		if len(last) < cap(last) {
			continue
		}
		keep := len(last) - len(mark)
		if take != nil {
			if err := take(last[:keep]); err != nil {
				return err
			}
		}
		last = append(last[:0], last[keep:]...)
	}
}

func (x *xmlScanner) opening() error {
	if len(x.open) >= maxXMLDepth || (len(x.open) == 0 && x.rooted) {
		return errXML
	}
	x.rooted = true
	begin := len(x.names)
	next, err := x.name()
	if err != nil {
		return err
	}
	x.open = append(x.open, begin)
	x.values, x.element.attrs = x.values[:0], x.element.attrs[:0]
	for {
		for isSpace(next) {
			if next, err = x.r.ReadByte(); err != nil {
				return err
			}
		}
		switch next {
		case '>':
			return x.started()
		case '/':
			if c, err := x.r.ReadByte(); err != nil || c != '>' {
				return errXML
			}
			if err := x.started(); err != nil {
				return err
			}
			return x.ended()
		}
		if next, err = x.attribute(next); err != nil {
			return err
		}
	}
}

// name reads a name, appends it to names, and returns the byte after it.
func (x *xmlScanner) name() (byte, error) {
	begin := len(x.names)
	for {
		c, err := x.r.ReadByte()
		if err != nil {
			return 0, err
		}
		if isSpace(c) || c == '>' || c == '/' {
			if len(x.names) == begin {
				return 0, errXML
			}
			return c, nil
		}
		if c == '<' || c == '&' || c == '"' || c == '=' || len(x.names)-begin >= maxXMLName {
			return 0, errXML
		}
		x.names = append(x.names, c)
	}
}

// attribute reads an attribute that begins with byte c, and returns the byte after it.
func (x *xmlScanner) attribute(c byte) (next byte, err error) {
	begin := len(x.values)
	for ; c != '='; c, err = x.r.ReadByte() {
		switch {
		case err != nil:
			return 0, err
		case isSpace(c):
			continue
		case c == '<' || c == '>' || c == '"' || len(x.values)-begin >= maxXMLName:
			return 0, errXML
		}
		x.values = append(x.values, c)
	}
	if err != nil {
		return 0, err
	}
	middle := len(x.values)
	quote := byte(' ')
	for isSpace(quote) {
		if quote, err = x.r.ReadByte(); err != nil {
			return 0, err
		}
	}
	if middle == begin || (quote != '"' && quote != '\'') || len(x.element.attrs) >= maxXMLAttrs {
		return 0, errXML
	}
	for {
		if c, err = x.r.ReadByte(); err != nil {
			return 0, err
		}
		if c == quote {
			break
		}
		if c == '<' || c == 0 {
			return 0, errXML
		}
		if len(x.values)-middle < maxXMLValue {
			x.values = append(x.values, c)
		}
	}
	x.element.attrs = append(x.element.attrs, xmlAttr{x.values[begin:middle], x.values[middle:]})
	if next, err = x.r.ReadByte(); err == nil && !isSpace(next) && next != '>' && next != '/' {
		err = errXML
	}
	return next, err
}

func (x *xmlScanner) started() error {
	for _, a := range x.element.attrs {
		prefix, local := splitName(a.name)
		switch {
		case len(prefix) == 0 && string(local) == "xmlns":
			local = nil
		case string(prefix) != "xmlns":
			continue
		}
		if err := x.bind(local, a.value); err != nil {
			return err
		}
	}
	prefix, local := splitName(x.top())
	x.element.local, x.element.space, x.element.in = x.string(local), x.space(prefix), x
	return x.handle.start(&x.element)
}

// bind sets the namespace of a prefix until the element ends.
func (x *xmlScanner) bind(prefix, value []byte) error {
	space, before := html.UnescapeString(string(value)), x.spaces[string(prefix)]
	switch {
	case space == before:
		return nil
	case len(x.bindings) >= maxPrefixes:
		return errXML
	}
	name := x.string(prefix)
	x.bindings = append(x.bindings, binding{len(x.open), name, before})
	x.spaces[name] = space
	return nil
}

func (x *xmlScanner) closing() error {
	begin := len(x.names)
	next, err := x.name()
	for err == nil && isSpace(next) {
		next, err = x.r.ReadByte()
	}
	if err != nil {
		return err
	}
	name := x.names[begin:]
	x.names = x.names[:begin]
	if next != '>' || len(x.open) == 0 || !bytes.Equal(name, x.top()) {
		return errXML
	}
	return x.ended()
}

func (x *xmlScanner) ended() error {
	_, local := splitName(x.top())
	name := x.string(local)
	for n := len(x.bindings); n > 0 && x.bindings[n-1].depth == len(x.open); n-- {
		x.unbind(x.bindings[n-1])
		x.bindings = x.bindings[:n-1]
	}
	last := len(x.open) - 1
	x.names, x.open = x.names[:x.open[last]], x.open[:last]
	return x.handle.end(name)
}

// top returns the name of the innermost open element.
func (x *xmlScanner) top() []byte { return x.names[x.open[len(x.open)-1]:] }

func (x *xmlScanner) space(prefix []byte) string { return x.spaces[string(prefix)] }

// unbind restores the previous meaning of a prefix. It deletes unbound prefixes, so that the map stays small.
func (x *xmlScanner) unbind(b binding) {
	if b.space == "" {
		delete(x.spaces, b.prefix)
		return
	}
	x.spaces[b.prefix] = b.space
}

// string interns a name, because documents repeat names.
func (x *xmlScanner) string(name []byte) string {
	if s, ok := x.known[string(name)]; ok {
		return s
	}
	const most = 1000
	s := string(name)
	if len(x.known) < most {
		x.known[s] = s
	}
	return s
}

func splitName(name []byte) (prefix, local []byte) {
	if at := bytes.IndexByte(name, ':'); at >= 0 {
		return name[:at], name[at+1:]
	}
	return nil, name
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

const byteOrderMark = "\xef\xbb\xbf"

// utf8Reader decodes UTF-16 with a byte order mark to UTF-8, and passes everything else unchanged.
func utf8Reader(r io.Reader) io.Reader {
	head := bufio.NewReader(r)
	mark, err := head.Peek(2)
	if err != nil || (string(mark) != "\xff\xfe" && string(mark) != "\xfe\xff") {
		return head
	}
	return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(head)
}
