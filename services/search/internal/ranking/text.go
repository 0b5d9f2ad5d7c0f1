package ranking

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text is a typed text, split once for use in all comparisons.
type text struct {
	whole  string
	words  []string // parts between blanks that contain a letter or a digit
	name   string   // the words, separated by single blanks
	digits string   // "" when the text cannot be a telephone number
	coded  bool     // the digits are a telephone number that begins with a country code

	identifiers []string // texts to compare with identifiers
	numbers     []string // numbers to compare with identifiers
}

func parse(typed string) text {
	t := text{whole: strings.TrimSpace(typed), digits: phoneDigits(typed)}
	for _, word := range strings.Fields(typed) {
		if strings.ContainsFunc(word, isWordRune) {
			t.words = append(t.words, word)
		}
	}
	t.name = strings.Join(t.words, " ")
	t.coded = strings.HasPrefix(t.digits, "00") || strings.HasPrefix(strings.TrimLeft(t.whole, "( "), "+")
	if t.whole == "" {
		return t
	}
	t.identifiers = []string{t.whole}
	if isDigits(t.whole) {
		t.numbers = t.identifiers
	} else if compact := strings.Join(strings.Fields(t.whole), ""); isDigits(compact) { // grouped as on printed cards
		t.identifiers, t.numbers = []string{t.whole, compact}, []string{compact}
	}
	return t
}

// phoneDigits returns the digits of s if s contains only digits and the usual characters between them; otherwise "".
func phoneDigits(s string) string {
	var digits []byte
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits = append(digits, byte(r))
		case !unicode.IsSpace(r) && !strings.ContainsRune("+-().", r):
			return ""
		}
	}
	return string(digits)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func isDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// isPart reports whether s can be a segment of an identifier: at least two characters, with a letter or a digit at both
// ends. Other characters are blanks in the index, so without this check other texts would match.
func isPart(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	return utf8.RuneCountInString(s) >= 2 && isWordRune(first) && (isWordRune(last) || unicode.IsMark(last)) &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return !isWordRune(r) && !unicode.IsMark(r) && r != '.' && r != '_'
		})
}

// spoken returns the parts of s that have a sound, split as the sound forms require. ok is false if s contains a digit
// and therefore is not a name.
func spoken(s string) ([]string, bool) {
	if strings.ContainsFunc(s, unicode.IsDigit) {
		return nil, false
	}
	parts := strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’", r)
	})
	return slices.DeleteFunc(parts, func(p string) bool { return !strings.ContainsFunc(p, unicode.IsLetter) }), true
}
