package userindex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const minus = '\u2212'

// Plain returns a text in the form that the index and a search use: digits and dashes of any script as in ASCII, one
// form for letters that mean the same, and no invisible characters. Control and format characters come from copied text
// and from scanners.
func Plain(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > unicode.MaxASCII-1 }) {
		return text
	}
	return strings.Map(plain, norm.NFKC.String(strings.ToValidUTF8(text, "")))
}

// Typed returns Plain of a typed or scanned text, without surrounding blanks and without the prefix by which scanners
// identify the type of a barcode.
func Typed(text string) string {
	text = strings.TrimSpace(Plain(text))
	const mark = len("]C0")
	if len(text) > mark && text[0] == ']' && unicode.IsLetter(rune(text[1])) && unicode.IsDigit(rune(text[2])) {
		return text[mark:]
	}
	return text
}

// plain maps a character to ASCII; -1 removes it.
func plain(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r):
		return -1
	case unicode.Is(unicode.Pd, r), r == minus:
		return '-'
	case r >= utf8.RuneSelf && unicode.IsDigit(r):
		return '0' + digit(r)
	}
	return r
}

// digit returns the value of a decimal digit. In Unicode the ten digits of a script are consecutive.
func digit(r rune) rune {
	zero := r
	for unicode.IsDigit(zero-1) && r-zero < 9 {
		zero--
	}
	return r - zero
}

// Digits returns the digits of a text. Phone numbers are stored in this form.
func Digits(text string) string {
	return OldDigits(Plain(text))
}

// OldDigits returns the ASCII digits of a text, the form in which an index of OldSchema has them.
func OldDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}
