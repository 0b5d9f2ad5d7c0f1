package search

import (
	"slices"
	"strings"
	"unicode"
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

// split takes apart what is often written without a blank: two telephone numbers, and labels before a number.
func split(word string) []string {
	parts := strings.Split(word, "/")
	if !slices.ContainsFunc(parts, func(p string) bool { return len(digitsOf(p)) < minTelephone }) {
		return parts
	}
	if digit := strings.IndexFunc(word, unicode.IsDigit); digit > 0 {
		before := strings.Split(strings.TrimRight(word[:digit], "."), ".")
		if !slices.ContainsFunc(before, func(l string) bool { return !isLabel(l) }) {
			return append(before, word[digit:])
		}
	}
	return []string{word}
}
