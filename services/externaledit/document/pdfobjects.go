package document

import (
	"slices"
	"strconv"
)

// pdfObject holds what the scanner has read of the present object.
type pdfObject struct {
	isObjStm, hasN bool
	firsts, first  int  // number of First entries, and the offset of the first object
	filters        int  // number of filters to undo
	lists          int  // number of Filter entries
	unusual        bool // it has an unsupported filter, or a value stored in another object
	key            pdfKey
}

// pdfKey is the dictionary key whose value comes next.
type pdfKey int

const (
	noKey       pdfKey = iota
	keyFirst           // the offset of the first object
	keyFirstEnd        // the token after it; a number there makes the offset a reference
	keyFilter
	keyFilters // inside an array of filters
	keyParameters
)

func (o *pdfObject) isObjectStream() bool { return o.isObjStm || (o.hasN && o.firsts > 0) }

// isReadable reports whether the scanner can read the object stream: it is stored as it is or deflated once.
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

// value processes a token that is not a name.
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
	case key == keyFilter, key == keyFilters, err == nil: // a number begins a reference to another object
		o.unusual = true
	case key == keyParameters && (token == "[" || token == "null"):
		o.key = keyParameters
	}
}

// pdfIndex reads the index of an object stream: pairs of an object's number and its offset behind the index. A PDF
// reader starts at each offset, while the scanner reads on, so an object that begins before the previous one has ended
// is damage.
type pdfIndex struct {
	first, at int
	digits    []byte // digits of the number being read
	numbers   int
	places    []int
	next      int // index of the next element of places
	damaged   bool
}

const maxObjects = 1 << 17 // maximum in one object stream

func (x *pdfIndex) isComplete() bool {
	return !x.damaged && x.at >= x.first && x.next == len(x.places)
}

// piece returns how many bytes of p come before the next object. lexer has read everything before p.
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
