package document

import (
	"slices"
	"strconv"
)

// pdfObject is what the scanner remembers of the object that it reads.
type pdfObject struct {
	isObjStm, hasN bool
	firsts, first  int  // how often the place of the first object is given, and the place
	filters        int  // that are to be undone
	lists          int  // of filters
	unusual        bool // a filter that is not undone here, or a value that is stored elsewhere
	key            pdfKey
}

// pdfKey is a key of which the value is read.
type pdfKey int

const (
	noKey       pdfKey = iota
	keyFirst           // the place of the first object
	keyFirstEnd        // what follows it: another number makes it a reference
	keyFilter
	keyFilters // an array of them
	keyParameters
)

func (o *pdfObject) isObjectStream() bool { return o.isObjStm || (o.hasN && o.firsts > 0) }

// isReadable reports whether an object stream can be read here: as it is, or deflated once.
func (o *pdfObject) isReadable() bool {
	return !o.unusual && o.firsts <= 1 && o.lists <= 1 && o.filters <= 1
}

func (o *pdfObject) name(name string) {
	if o.key == keyFilter || o.key == keyFilters {
		o.filters++
		o.unusual = o.unusual || (name != "FlateDecode" && name != "Fl")
		if o.key == keyFilter {
			o.key = noKey
		}
		return
	}
	o.key = noKey
	switch name {
	case "ObjStm":
		o.isObjStm = true
	case "N":
		o.hasN = true
	case "First":
		o.firsts++
		o.key = keyFirst
	case "Filter":
		o.lists++
		o.key = keyFilter
	case "DecodeParms", "DP":
		o.key = keyParameters
	case "LZWDecode", "LZW", "ASCIIHexDecode", "AHx", "ASCII85Decode", "A85", "RunLengthDecode", "RL", "Crypt",
		"Predictor":
		o.unusual = true
	}
}

// value takes a token that is no name.
func (o *pdfObject) value(token string) {
	key := o.key
	o.key = noKey
	number, err := strconv.Atoi(token)
	switch {
	case key == keyFirst:
		o.first, o.key = number, keyFirstEnd
		o.unusual = o.unusual || err != nil || number < 0
	case key == keyFilter && token == "[":
		o.key = keyFilters
	case key == keyFilters && token == "]":
	case key == keyFilter, key == keyFilters, err == nil: // a number begins a reference
		o.unusual = true
	case key == keyParameters && (token == "[" || token == "null"):
		o.key = keyParameters
	}
}

// pdfIndex is the beginning of an object stream: pairs of an object's number and its place behind the index. A reader
// begins at each place; the scanner reads on, so no object may begin inside what the one before has not ended.
type pdfIndex struct {
	first, at int
	digits    []byte // of a number
	numbers   int
	places    []int
	next      int // of places
	damaged   bool
}

const maxObjects = 1 << 17 // of an object stream

func (x *pdfIndex) isComplete() bool {
	return !x.damaged && x.at >= x.first && x.next == len(x.places)
}

// piece returns how much of p comes before the next place; lexer has read what is before p.
func (x *pdfIndex) piece(p []byte, lexer *pdfLexer) int {
	n := len(p)
	if x.at < x.first {
		n = min(n, x.first-x.at)
		x.read(p[:n])
	} else {
		for x.next < len(x.places) && x.places[x.next] == x.at {
			x.damaged = x.damaged || !lexer.isBetween(p[0])
			x.next++
		}
		if x.next < len(x.places) {
			n = min(n, x.places[x.next]-x.at)
		}
	}
	x.at += n
	return n
}

func (x *pdfIndex) read(p []byte) {
	for _, c := range p {
		switch {
		case isDigit(c):
			x.digits = append(x.digits, c)
		case isPDFSpace(c):
			x.number()
		default:
			x.damaged = true
		}
		x.damaged = x.damaged || len(x.digits) > maxToken
		if x.damaged {
			return
		}
	}
	if x.at+len(p) == x.first {
		x.number()
		slices.Sort(x.places)
		x.damaged = x.damaged || x.numbers%2 != 0
	}
}

func (x *pdfIndex) number() {
	if len(x.digits) == 0 {
		return
	}
	place, err := strconv.Atoi(string(x.digits))
	x.digits = x.digits[:0]
	x.numbers++
	if x.numbers%2 == 0 {
		x.places = append(x.places, x.first+place)
	}
	x.damaged = x.damaged || err != nil || place > objSBytes || len(x.places) > maxObjects
}
