package clinical

import (
	"strings"
	"unicode"
)

// maxValue is the maximum length of a value in bytes; longer texts are Undecided.
const maxValue = 256

// end is one end of a numeric interval.
type end struct {
	set  bool // false: unbounded on this side
	open bool // the number itself is not part of the interval
	at   number
}

func (e end) equal(o end) bool {
	return e.set == o.set && (!e.set || e.open == o.open && e.at.compare(o.at) == 0)
}

// Value is a parsed result. The zero Value is a missing result.
type Value struct {
	text      string
	low, high end
	numeric   bool // low and high are valid
	titre     bool // the numbers are denominators: 80 for 1:80
	below     bool // written as "<x": it has no lower end of its own
}

// ParseValue parses s. It never fails: anything other than a number, range or titre is kept as a text.
func ParseValue(s string) Value { return ParseValueIn(s, "") }

// ParseValueIn parses s like ParseValue, and also accepts the parameter's unit after a number: "7.9 mmol/L".
func ParseValueIn(s, unit string) Value {
	s = strings.TrimSpace(s)
	v := Value{text: s}
	if s == "" || len(s) > maxValue {
		return v
	}
	body := withoutMarks(s, unit)
	if body == "" || !mayBeNumeric(body) {
		return v
	}
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

// mayBeNumeric rejects words quickly, by their first character.
func mayBeNumeric(s string) bool {
	switch c := s[0]; {
	case c-'0' <= 9, c == '-', c == '.', c == '<', c == '>':
		return true
	default:
		return strings.HasPrefix(s, "≤") || strings.HasPrefix(s, "≥")
	}
}

// arrows mark numbers that are out of range.
const arrows = "↑↓▲▼⇑⇓"

// withoutMarks removes the marks around a number: arrows, trailing asterisks, flags and the unit.
func withoutMarks(s, unit string) string {
	if last := s[len(s)-1]; last-'0' <= 9 && mayBeNumeric(s) {
		return s
	}
	body := strings.TrimLeft(s, arrows+" ")
	if rest, ok := strings.CutPrefix(body, "H "); ok {
		body = strings.TrimLeft(rest, " ")
	} else if rest, ok := strings.CutPrefix(body, "L "); ok {
		body = strings.TrimLeft(rest, " ")
	}
	for {
		shorter := strings.TrimRight(body, arrows+"* ")
		if shorter == "" {
			return ""
		}
		for _, flag := range [...]string{" HH", " LL", " H", " L"} {
			shorter = strings.TrimSuffix(shorter, flag)
		}
		shorter = withoutUnit(withoutFlag(shorter), unit)
		if shorter == body || shorter == "" {
			return body
		}
		body = shorter
	}
}

// withoutUnit removes the unit after a number. A unit that starts with a digit must be separated by a space: "7
// 10^9/L".
func withoutUnit(s, unit string) string {
	at := len(s) - len(unit)
	if unit == "" || at <= 0 || !strings.EqualFold(s[at:], unit) {
		return s
	}
	rest := strings.TrimRight(s[:at], " ")
	if unit[0]-'0' <= 9 && len(rest) == at {
		return s
	}
	return rest
}

// withoutFlag removes an analyser's flag after a number: "12.5 H", "3.1LL", "7 A".
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

// setRange parses "2-4", the form of counts per field in microscopy.
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

// notDone lists words for a test that was not done, noResults words for a test without a comparable result.
var (
	notDone   = [...]string{"TNP", "NA", "N/A", "PENDING", "NOT PERFORMED", "TEST NOT PERFORMED"}
	noResults = [...]string{"TNTC", "QNS", "ERR", "ERROR"}
)

// Absent reports whether the value is missing or states that there is no result: an empty text, dashes, "TNP", "NA",
// "Pending". A service may skip such a value, but must report every other value that it cannot evaluate.
func (v Value) Absent() bool {
	return strings.TrimFunc(v.text, dashOrSpace) == "" || equalsOne(notDone[:], v.text)
}

func dashOrSpace(r rune) bool {
	return r == '\u2212' || unicode.Is(unicode.Pd, r) || unicode.IsSpace(r)
}

func equalsOne(words []string, text string) bool {
	for _, w := range words {
		if strings.EqualFold(text, w) {
			return true
		}
	}
	return false
}

// word reports whether the value can be compared with configured texts: it contains letters and no digit, and does not
// state that a result is missing.
func (v Value) word() bool {
	if v.text == "" || len(v.text) > maxValue || strings.ContainsAny(v.text, "0123456789") {
		return false
	}
	if equalsOne(notDone[:], v.text) || equalsOne(noResults[:], v.text) {
		return false
	}
	return strings.ContainsFunc(v.text, letter)
}

func letter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r >= 0x80 }
