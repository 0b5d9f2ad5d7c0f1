package ranking

import (
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const maxBegun = 15 // letters of a word of a name that are compared as its beginning

// plainTerms returns what the engine would make of a text that a field is asked, so that it need not. Nil when the text
// holds more than ASCII, or more than letters, digits and blanks where words are compared: the engine knows more of
// that than we.
func plainTerms(field, text string) []string {
	base, part, _ := strings.Cut(field, ".")
	if base == userindex.Phones || search.Field(base).Kind() == search.Phone {
		return phoneTerms(part, text)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	lower := strings.ToLower(text)
	switch whole := part == "prefix" && base != string(search.FullName); {
	case whole:
		return cut([]string{lower}, userindex.MaxForm)
	case strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !isWordRune(r) }):
		return nil
	case base == userindex.Joined:
		return cut(strings.Fields(lower), userindex.MaxForm)
	case base == string(search.FullName) && part == "prefix":
		return cut(strings.Fields(lower), maxBegun)
	case base == string(search.FullName), part == "segment", base == userindex.Segments:
		return strings.Fields(lower)
	}
	return nil
}

// phoneTerms are the digits of a text.
func phoneTerms(part, text string) []string {
	asked := digits(text)
	switch part {
	case "prefix":
		return cut([]string{asked}, maxFirst)
	case "ends":
		return []string{lastDigits(asked)}
	}
	return []string{asked}
}

// cut shortens terms to as many letters as the longest beginning in the index has.
func cut(terms []string, letters int) []string {
	for i, t := range terms {
		terms[i] = t[:min(len(t), letters)]
	}
	return terms
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

func lastDigits(digits string) string { return digits[max(0, len(digits)-maxLast):] }
