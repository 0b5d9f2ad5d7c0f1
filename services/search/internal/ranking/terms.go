package ranking

import (
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const maxBegun = 15 // maximum length of the indexed prefixes of words in names

// plainTerms returns the terms into which the engine would split a text for a field. It returns nil for texts that only
// the engine can analyze: those with characters outside ASCII or, for words, with other characters than letters, digits
// and blanks.
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

// phoneTerms returns the digits of a text, cut to the length that the part requires.
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

// cut shortens terms to the length of the longest indexed prefix.
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
