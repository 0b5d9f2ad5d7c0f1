package userindex

import (
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/lab/phonetic"
)

const (
	alef, lam, waw, yeh = 'ا', 'ل', 'و', 'ی'
	tatweel             = 'ـ'
	minArticle          = 5 // letters of a word that begins with the article
)

func arabic(r rune) bool { return unicode.Is(unicode.Arabic, r) || r == tatweel || harakat(r) }

func harakat(r rune) bool { return r >= '\u064b' && r <= '\u065f' || r == '\u0670' }

// sameLetter maps the letters of Arabic, Persian and Urdu that are written in several ways to one of them, and removes
// what need not be written.
func sameLetter(r rune) rune {
	switch {
	case r == tatweel || harakat(r):
		return -1
	case r < firstForeign:
		return r
	}
	switch r {
	case 'أ', 'إ', 'آ', 'ٱ':
		return alef
	case 'ي', 'ى', 'ئ', 'ے', 'ې':
		return yeh
	case 'ك':
		return 'ک'
	case 'ة', 'ہ', 'ھ', 'ۀ', 'ە':
		return 'ه'
	case 'ؤ':
		return waw
	}
	return r
}

// arabicConsonants are the usual transliterations of names.
var arabicConsonants = map[rune]string{
	alef: "a", 'ع': "a", 'ب': "b", 'پ': "p", 'ت': "t", 'ط': "t", 'ٹ': "t", 'ث': "s", 'ج': "j", 'چ': "ch", 'ح': "h",
	'ه': "h", 'خ': "kh", 'د': "d", 'ڈ': "d", 'ذ': "z", 'ر': "r", 'ڑ': "r", 'ز': "z", 'ض': "z", 'ظ': "z", 'ژ': "zh",
	'س': "s", 'ص': "s", 'ش': "sh", 'غ': "gh", 'ف': "f", 'ڤ': "v", 'ق': "q", 'ک': "k", 'گ': "g", lam: "l", 'م': "m",
	'ن': "n", 'ں': "n",
}

// arabicLatin transliterates a word in Arabic letters. The article is a word of its own.
func arabicLatin(text string) string {
	letters := []rune(strings.Map(sameLetter, text))
	if hasArticle(letters) {
		return "al " + strings.Join(arabicLetters(letters[2:], false), "")
	}
	return strings.Join(arabicLetters(letters, false), "")
}

func hasArticle(letters []rune) bool {
	return len(letters) >= minArticle && letters[0] == alef && letters[1] == lam
}

// arabicLetters transliterates letters. A waw may be a vowel, unless each is a consonant.
func arabicLetters(letters []rune, consonants bool) []string {
	all := make([]string, len(letters))
	for i, r := range letters {
		beside := func(at int) bool { return at >= 0 && at < len(letters) && letters[at] == alef }
		consonant := i == 0 || beside(i-1) || beside(i+1)
		switch {
		case r == waw && (consonant || consonants):
			all[i] = "w"
		case r == waw:
			all[i] = "u"
		case r == yeh && consonant:
			all[i] = "y"
		case r == yeh:
			all[i] = "i"
		default:
			all[i] = arabicConsonants[r]
		}
	}
	return all
}

// dental has the letters that Persian and Urdu speak as z and s, as Arabic speaks them.
var dental = strings.NewReplacer("ض", "د", "ذ", "د", "ث", "ت")

// unvocalizedSounds returns how a word in Arabic letters sounds: as Persian or as Arabic speaks it, with each waw as a
// vowel or a consonant. What looks like the article may be a part of the word.
func unvocalizedSounds(word string) []sound {
	var whole, rest sound
	for _, spoken := range []string{word, dental.Replace(word)} {
		letters := []rune(strings.Map(sameLetter, spoken))
		for _, consonants := range []bool{false, true} {
			whole.unvocalized = append(whole.unvocalized, phonetic.Unvocalized(arabicLetters(letters, consonants))...)
			if hasArticle(letters) {
				rest.unvocalized = append(rest.unvocalized, phonetic.Unvocalized(arabicLetters(letters[2:], consonants))...)
			}
		}
	}
	if rest.unvocalized == nil {
		return []sound{whole}
	}
	rest.unvocalized = append(rest.unvocalized, whole.unvocalized...)
	return []sound{{unvocalized: []string{article}}, rest}
}
