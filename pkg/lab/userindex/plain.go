package userindex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const minus = '\u2212'

// Plain returns a text as the index and a search read it: digits and dashes of any script as in ASCII, letters that
// mean the same in one form, and nothing that cannot be seen. Control and format characters come with what people copy,
// and from scanners.
func Plain(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > unicode.MaxASCII-1 }) {
		return text
	}
	return strings.Map(plain, norm.NFKC.String(strings.ToValidUTF8(text, "")))
}

// Typed returns Plain of what was typed or scanned: without blanks around it and without the mark of the kind of
// barcode that scanners put before it.
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

// digit returns the value of a decimal digit. Unicode has the digits of a script in a row, from zero to nine.
func digit(r rune) rune {
	zero := r
	for unicode.IsDigit(zero-1) && r-zero < 9 {
		zero--
	}
	return r - zero
}

// Digits returns the digits of a text: how telephone numbers are stored.
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
