package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands between words, and around them.
const (
	separators = ",;:()[]#|"
	trimmed    = ".-/"
)

// wordsOf returns the words of a text without what surrounds them. A "#" is a word: it says that a number follows.
func wordsOf(typed string) []string {
	spaced := strings.NewReplacer("#", " # ", `\`, "/").Replace(typed)
	var words []string
	for _, word := range strings.FieldsFunc(spaced, func(r rune) bool {
		return unicode.IsSpace(r) || r != '#' && strings.ContainsRune(separators, r)
	}) {
		if word = strings.TrimLeft(strings.TrimRight(word, trimmed), "/."); word != "" {
			words = append(words, split(word)...)
		}
	}
	return words
}

// split takes apart what is often written without a blank: two telephone numbers, and labels, a mask or a name before a
// number.
func split(word string) []string {
	parts := strings.Split(word, "/")
	if !slices.ContainsFunc(parts, func(p string) bool { return len(digitsOf(p)) < minTelephone }) {
		return parts
	}
	digit := strings.IndexFunc(word, unicode.IsDigit)
	if at := strings.IndexByte(word, '-'); at > 0 && strings.ContainsRune(word, '@') && isLabel(word[:at]) {
		return []string{word[:at], word[at+1:]}
	}
	if digit <= 0 || strings.ContainsRune(word, '@') {
		return []string{word}
	}
	before, number := strings.TrimRight(word[:digit], between), word[digit:]
	said := strings.Split(before, ".")
	switch {
	case isMask(word[:digit]) && len(digitsOf(number)) >= minMasked:
		return []string{"tel", number}
	case !slices.ContainsFunc(said, func(l string) bool { return !isLabel(l) }):
		return append(said, number)
	case isName(before) && len(digitsOf(number)) >= minTelephone:
		return []string{before, number}
	}
	return []string{word}
}

// between is what stands between a label or a name and the number behind it.
const between = ".-/=_"

const (
	minMasked = 4 // digits behind a mask
	minNamed  = 2 // letters of a name at a number
)

// isMask reports whether a text stands for digits that are not shown. One letter alone begins a number of its own.
func isMask(text string) bool {
	text = strings.Trim(text, " -+")
	return text != "" && (strings.Trim(text, "*•●·.") == "" || len(text) > 1 && strings.Trim(text, "xX*") == "")
}

func isName(text string) bool {
	return utf8.RuneCountInString(text) >= minNamed && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
}
