package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Characters between words, and characters to remove at the ends of words.
const (
	separators = ",;:()[]#|"
	trimmed    = ".-/"
)

// wordsOf splits a text into words and removes surrounding characters. A "#" is a word, because a number follows it.
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

// split separates parts that are often written without a blank between them: two telephone numbers, and a label or mask
// before a number.
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
	}
	return []string{word}
}

// nameAt splits a word into a name and a telephone number joined to it. Identifiers may have the same form.
func nameAt(word string) (name, number string, ok bool) {
	digit := strings.IndexFunc(word, unicode.IsDigit)
	if digit <= 0 {
		return "", "", false
	}
	name, number = strings.TrimRight(word[:digit], between), word[digit:]
	letters := !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	return name, number, letters && utf8.RuneCountInString(name) >= minNamed && len(number) >= minTelephone &&
		strings.Trim(number, "0123456789") == ""
}

// between are the characters between a label or a name and its number.
const between = ".-/=_"

const (
	minMasked = 4 // minimum digits after a mask
	minNamed  = 2 // minimum length of a name joined to a number
)

// isMask reports whether a text stands for hidden digits. A single letter is not a mask, because a number may begin
// with it.
func isMask(text string) bool {
	text = strings.Trim(text, " -+")
	return text != "" && (strings.Trim(text, "*•●·.") == "" || len(text) > 1 && strings.Trim(text, "xX*") == "")
}
