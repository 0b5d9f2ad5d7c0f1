package userindex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold removes case and, in Latin letters, diacritics, as the index does.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf }) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		r = unicode.ToLower(r)
		switch {
		case r < utf8.RuneSelf:
			out.WriteRune(r)
		case latin[r] != "":
			out.WriteString(latin[r])
		default:
			out.WriteRune(base(r))
		}
	}
	return out.String()
}

// base returns the Latin letter of r without diacritics, or r itself for other letters.
func base(r rune) rune {
	letter, _ := utf8.DecodeRuneInString(norm.NFKD.String(string(r)))
	if letter < utf8.RuneSelf {
		return unicode.ToLower(letter)
	}
	return r
}

// latin lists letters that do not decompose in Unicode.
var latin = map[rune]string{
	'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'ß': "ss", 'þ': "th", 'ı': "i", 'ħ': "h", 'ŋ': "n",
	'‘': "'", '’': "'", '“': `"`, '”': `"`, '–': "-", '—': "-", '‐': "-",
}
