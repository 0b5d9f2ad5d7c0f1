package userindex

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxWords     = 8 // max words of a name that get forms
	maxRun       = 3 // max neighbouring words that are joined
	minDeletions = 4 // minimum length of a word that is found despite a typing error
)

// Words returns the words of a name in Latin letters, without case and diacritics. Anything other than letters and
// digits separates words, including apostrophes and hyphens: D'Souza, D Souza and DSouza are all in use.
func Words(name string) []string { return split(Latin(Plain(name))) }

// OldWords returns the words as an index of OldSchema has them.
func OldWords(name string) []string { return split(indianLatin(name)) }

// Written returns the words of a name in its own script, without case and diacritics, and with one form for letters
// that mean the same.
func Written(name string) []string {
	return split(strings.Map(sameLetter, norm.NFKD.String(Plain(name))))
}

func split(text string) []string {
	return strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case r >= '\u0300' && r <= '\u036f':
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(text)))
}

// Names returns the forms of a name that match regardless of separators between its words: the words, neighbours joined
// in both orders, and the initials. They are sorted.
func Names(words []string) []string {
	words = words[:min(len(words), maxWords)]
	forms := slices.Clone(words)
	for first := range words {
		for last := first + 1; last < min(first+maxRun, len(words)); last++ {
			forms = append(forms, strings.Join(words[first:last+1], ""))
		}
		if first > 0 {
			forms = append(forms, words[first]+words[first-1])
		}
	}
	if n := len(words); n > 1 {
		forms = append(forms, strings.Join(words, ""), words[n-1]+words[0], words[0]+words[n-1], Initials(words))
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// Initials returns the first letters of the words, without separators.
func Initials(words []string) string {
	var letters strings.Builder
	for _, w := range words {
		letters.WriteRune([]rune(w)[0])
	}
	return letters.String()
}

// Joins returns the possible readings of the words of a search, whose user may have split one word of a name: the words
// unchanged, and with each run of two or three neighbours, or all words, joined.
func Joins(words []string) [][]string {
	ways := [][]string{words}
	for first := range words {
		for last := first + 1; last < len(words); last++ {
			if run := last - first + 1; run <= maxRun || run == len(words) {
				joined := append(slices.Clone(words[:first]), strings.Join(words[first:last+1], ""))
				ways = append(ways, append(joined, words[last+1:]...))
			}
		}
	}
	return ways
}

// Deletions returns word and its variants with one letter removed; it is nil for words that are too short or too long,
// or contain digits. Two words that differ by one wrong, missing, added or transposed letter share a variant.
func Deletions(word string) []string {
	letters := []rune(word)
	if len(letters) < minDeletions || len(letters) > MaxForm || strings.ContainsFunc(word, unicode.IsDigit) {
		return nil
	}
	all := []string{word}
	for i := range letters {
		all = append(all, string(letters[:i])+string(letters[i+1:]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Misspellings returns the deletions of each word of a name, and its words of three letters unchanged.
func Misspellings(words []string) []string {
	var all []string
	for _, w := range words[:min(len(words), maxWords)] {
		if forms := Deletions(w); forms != nil {
			all = append(all, forms...)
		} else if len(w) == minDeletions-1 {
			all = append(all, w)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
