package userindex

import (
	"strings"
	"unicode"

	"github.com/mozillazg/go-unidecode"
)

const firstForeign = '\u0370' // first character after the Latin letters and their diacritics

// Latin transliterates a text into Latin letters, as names are usually written; Latin text is unchanged. Arabic letters
// stay without the vowels that their script does not write.
func Latin(text string) string {
	if !strings.ContainsFunc(text, foreign) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		n, transliterate := run(text)
		out.WriteString(transliterate(text[:n]))
		text = text[n:]
	}
	return out.String()
}

// run returns the length of the first part of text that has one transliteration, and the function for it.
func run(text string) (int, func(string) string) {
	way := func(r rune) int {
		switch {
		case indian(r):
			return 1
		case arabic(r):
			return 2
		case foreign(r):
			return 3
		}
		return 0
	}
	ways := []func(string) string{func(s string) string { return s }, indianLatin, arabicLatin, otherLatin}
	first := -1
	for at, r := range text {
		if w := way(r); first < 0 {
			first = w
		} else if w != first {
			return at, ways[first]
		}
	}
	return len(text), ways[first]
}

func foreign(r rune) bool {
	return r >= firstForeign && !unicode.Is(unicode.Latin, r) && (unicode.IsLetter(r) || unicode.IsMark(r) || indian(r))
}

// otherLatin transliterates scripts without rules in this package. It omits signs that stand for silent letters.
func otherLatin(text string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsLetter(r) {
			return -1
		}
		return r
	}, unidecode.Unidecode(names.Replace(text)))
}

// names maps characters of Chinese names to their reading in names, which the library does not have.
var names = strings.NewReplacer("万", "wan ", "叶", "ye ", "葉", "ye ", "娜", "na ", "宁", "ning ", "沈", "shen ",
	"洁", "jie ", "薛", "xue ", "单", "shan ", "單", "shan ")
