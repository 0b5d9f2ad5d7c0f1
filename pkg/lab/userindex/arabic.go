package userindex

import (
	"regexp"
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
// optional marks.
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

// arabicLatin transliterates a word in Arabic letters. The article becomes a word of its own.
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

// arabicLetters transliterates letters. A waw may be a vowel, unless consonants is true.
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

// dental replaces letters that Persian and Urdu pronounce as z and s by the Arabic pronunciation.
var dental = strings.NewReplacer("ض", "د", "ذ", "د", "ث", "ت")

// unvocalizedSounds returns the possible sounds of a word in Arabic letters: pronounced as in Persian or as in Arabic,
// and with each waw as a vowel or a consonant. The sounds of a word that begins like the article include those of the
// whole word, because the letters may belong to the word.
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

var (
	servant     = regexp.MustCompile(`^abd[aeou](?:[dlnrstz]|sh)$`)
	articleWord = regexp.MustCompile(`^[aeou]l$|^u(?:[dnrstz]|sh)$`)
	ofGod       = regexp.MustCompile(`[aou]llah?$`)
	assimilated = regexp.MustCompile(`[ou](?:dd|nn|rr|ss|tt|zz)`)
)

const minBeforeGod = 3 // consonants of a name that ends with -ullah; Mulla has fewer and is no such name

// articled returns the consonants with which Arabic writes a Latin word that contains the article: Abdul is a word and
// the article of the next one, Nuruddin is Nur al Din, and Abdullah has both l. It returns nil for other words.
func articled(word string) []string {
	switch {
	case servant.MatchString(word):
		return []string{"abd"}
	case articleWord.MatchString(word):
		return []string{article}
	case ofGod.MatchString(word):
		if of := phonetic.Words(word); len(of) == 1 && len(of[0].Consonants) >= minBeforeGod {
			return []string{of[0].Consonants + "l"}
		}
	case assimilated.MatchString(word):
		written := assimilated.ReplaceAllStringFunc(word, func(s string) string { return s[:1] + "l" + s[2:] })
		if of := phonetic.Words(written); len(of) == 1 {
			return []string{of[0].Consonants}
		}
	}
	return nil
}
