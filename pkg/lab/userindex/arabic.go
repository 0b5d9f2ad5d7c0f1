package userindex

import (
	"strings"
	"unicode"
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

// arabicLatin transliterates Arabic letters. The article is a word of its own.
func arabicLatin(text string) string {
	letters := []rune(strings.Map(sameLetter, text))
	var out strings.Builder
	if len(letters) >= minArticle && letters[0] == alef && letters[1] == lam {
		out.WriteString("al ")
		letters = letters[2:]
	}
	for i, r := range letters {
		beside := func(at int) bool { return at >= 0 && at < len(letters) && letters[at] == alef }
		consonant := i == 0 || beside(i-1) || beside(i+1)
		switch {
		case r == waw && consonant:
			out.WriteByte('w')
		case r == waw:
			out.WriteByte('u')
		case r == yeh && consonant:
			out.WriteByte('y')
		case r == yeh:
			out.WriteByte('i')
		default:
			out.WriteString(arabicConsonants[r])
		}
	}
	return out.String()
}

// dental has the letters that Persian and Urdu speak as z and s, as Arabic speaks them.
var dental = strings.NewReplacer("ض", "د", "ذ", "د", "ث", "ت")
