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
func ParseValue(s string) Value { return ParseValueIn(s, "") }

// ParseValueIn also reads a number with the unit of its parameter behind it: "7.9 mmol/L".
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

// mayBeNumeric rejects words before anything else is tried.
func mayBeNumeric(s string) bool {
	switch c := s[0]; {
	case c-'0' <= 9, c == '-', c == '.', c == '<', c == '>':
		return true
	default:
		return strings.HasPrefix(s, "≤") || strings.HasPrefix(s, "≥")
	}
}

// arrows are put beside a number that is out of range.
const arrows = "↑↓▲▼⇑⇓"

// withoutMarks strips what people and analysers put around a number: arrows, stars behind it, flags and the unit.
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

// withoutUnit strips the unit behind a number. A unit that begins with a digit must stand apart: "7 10^9/L".
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

// notDone are words that say that a test was not done; noResults that it was, without a result that can be compared.
var (
	notDone   = [...]string{"TNP", "NA", "N/A", "PENDING", "NOT PERFORMED", "TEST NOT PERFORMED"}
	noResults = [...]string{"TNTC", "QNS", "ERR", "ERROR"}
)

// Absent reports whether the value says, or leaves open, that the test was not done: nothing, dashes, "TNP".
func (v Value) Absent() bool {
	return strings.Trim(v.text, "-– ") == "" || equalsOne(notDone[:], v.text)
}

func equalsOne(words []string, text string) bool {
	for _, w := range words {
		if strings.EqualFold(text, w) {
			return true
		}
	}
	return false
}

// word reports whether the value is a text that can be compared with configured texts: it has letters, no digit,
// and is no statement that a result is missing.
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
