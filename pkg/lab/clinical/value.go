package clinical

import (
	"strings"
)

// maxValue bounds what is read as a value, in bytes; longer texts are Undecided.
const maxValue = 256

// end is one end of an interval of numbers.
type end struct {
	set  bool // false: no end on this side
	open bool // the number itself does not belong to the interval
	at   number
}

// Value is a result as the instrument or a person wrote it, read once. The zero Value is no result.
type Value struct {
	text      string
	low, high end
	numeric   bool // low and high mean something
	titre     bool // the numbers are denominators: 1:80
	below     bool // written as "<x": it has no low side of its own
}

// ParseValue reads s. It never fails: what is no number, range or titre stays a text.
func ParseValue(s string) Value {
	s = strings.TrimSpace(s)
	v := Value{text: s}
	if s == "" || len(s) > maxValue || !mayBeNumeric(s) {
		return v
	}
	body := withoutFlag(s)
	comparator, body := cutComparator(body)
	if rest, ok := strings.CutPrefix(body, "1:"); ok {
		v.titre = true
		body = rest
	}
	if n, ok := parseNumber(body); ok {
		v.numeric = true
		v.setEnds(comparator, n)
		return v
	}
	if comparator == "" && !v.titre {
		v.setRange(body)
	}
	return v
}

// mayBeNumeric rejects words before anything else is tried.
func mayBeNumeric(s string) bool {
	switch c := s[0]; {
	case c-'0' <= 9, c == '-', c == '.', c == '<', c == '>':
		return true
	default:
		return strings.HasPrefix(s, "≤") || strings.HasPrefix(s, "≥")
	}
}

// withoutFlag strips the flag that an analyser puts behind the number: "12.5 H", "3.1LL", "7 A".
func withoutFlag(s string) string {
	if s[len(s)-1] < 'A' {
		return s
	}
	for _, flag := range [...]string{"HH", "LL", "H", "L", " AA", " A", " N"} {
		rest, ok := strings.CutSuffix(s, flag)
		if !ok {
			continue
		}
		if trimmed := strings.TrimRight(rest, " "); trimmed != "" && trimmed[len(trimmed)-1]-'0' <= 9 {
			return trimmed
		}
	}
	return s
}

func cutComparator(s string) (comparator, rest string) {
	for _, c := range [...]struct{ sign, meaning string }{
		{"<=", "<="}, {">=", ">="}, {"≤", "<="}, {"≥", ">="}, {"<", "<"}, {">", ">"},
	} {
		if rest, ok := strings.CutPrefix(s, c.sign); ok {
			return c.meaning, strings.TrimLeft(rest, " ")
		}
	}
	return "", s
}

func (v *Value) setEnds(comparator string, n number) {
	at := end{set: true, at: n, open: comparator == "<" || comparator == ">"}
	switch comparator {
	case "<", "<=":
		v.high = at
		v.below = true
	case ">", ">=":
		v.low = at
	default:
		v.low, v.high = at, at
	}
}

// setRange reads "2-4", as microscopy reports counts per field.
func (v *Value) setRange(s string) {
	left, right, ok := strings.Cut(s, "-")
	if !ok {
		left, right, ok = strings.Cut(s, "–")
	}
	if !ok || left == "" {
		return
	}
	low, lowOK := parseNumber(strings.TrimRight(left, " "))
	right = strings.TrimLeft(right, " ")
	high, highOK := parseNumber(right)
	if !lowOK || !highOK || right[0] == '-' || low.compare(high) > 0 {
		return
	}
	v.numeric = true
	v.low, v.high = end{set: true, at: low}, end{set: true, at: high}
}

// noResults are words that say that there is no result.
var noResults = [...]string{
	"TNP",
	"TNTC",
	"QNS",
	"NA",
	"N/A",
	"ERR",
	"ERROR",
	"PENDING",
	"NOT PERFORMED",
	"TEST NOT PERFORMED",
}

// word tells whether the value is a text that can be compared with configured texts: it has letters, no digit,
// and is no statement that a result is missing.
func (v Value) word() bool {
	if v.text == "" || len(v.text) > maxValue || strings.ContainsAny(v.text, "0123456789") {
		return false
	}
	for _, w := range noResults {
		if strings.EqualFold(v.text, w) {
			return false
		}
	}
	return strings.ContainsFunc(v.text, letter)
}

func letter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 }
