package elastic

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokens returns the words of s as the engine's standard tokenizer finds them: by the boundaries of words of Unicode
// Standard Annex 29, as far as they matter in names and identifiers.
func tokens(s string) []string {
	var all []string
	start, whole := -1, false // of the word under way; it holds a letter or a digit
	end := func(at int) {
		if start >= 0 && whole {
			all = append(all, s[start:at])
		}
		start, whole = -1, false
	}
	previous := other
	for at, r := range s {
		class := classOf(r)
		switch {
		case class == extends && start >= 0:
			continue
		case class == alone:
			end(at)
			start, whole = at, true
		case class == letter || class == digit || class == connector:
			if previous == alone {
				end(at)
			}
			if start < 0 {
				start = at
			}
			whole = whole || class != connector
		case start >= 0 && joins(r, previous, s[at+utf8.RuneLen(r):]):
			continue
		default:
			end(at)
		}
		previous = class
	}
	end(len(s))
	return all
}

type class uint8

const (
	other class = iota
	letter
	digit
	alone     // a letter that is a word by itself
	extends   // a mark of the letter before
	connector // _ and the like
)

func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return letter
	case r == ' ' || r == '-':
		return other
	case unicode.IsDigit(r):
		return digit
	case unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r):
		return alone
	case unicode.IsLetter(r):
		return letter
	case unicode.IsMark(r) || unicode.Is(unicode.Cf, r):
		return extends
	case unicode.Is(unicode.Pc, r):
		return connector
	}
	return other
}

// joins tells whether r stands within a word, as in d'souza and 1,5: between two letters, or between two digits.
func joins(r rune, previous class, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	if classOf(next) != previous {
		return false
	}
	switch {
	case strings.ContainsRune(".'‘’․﹒＇．", r):
		return previous == letter || previous == digit
	case strings.ContainsRune(":·‧", r):
		return previous == letter
	case strings.ContainsRune(",;", r):
		return previous == digit
	}
	return false
}

// mayHaveTerm is false when no folded term of value is, holds or begins with asked: the terms of an ASCII value are
// pieces of it, but for the case of their letters.
func mayHaveTerm(value, asked string) bool {
	for i := range len(value) {
		if value[i] >= utf8.RuneSelf {
			return true
		}
	}
	for i := range len(value) - len(asked) + 1 {
		if strings.EqualFold(value[i:i+len(asked)], asked) {
			return true
		}
	}
	return false
}
