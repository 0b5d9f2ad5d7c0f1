package phonetic

import (
	"strings"
	"unicode"

	"github.com/antzucaro/matchr"
	"golang.org/x/text/unicode/norm"
)

// Codes returns the codes of the words of name, each once, in their order: the first code of a word, then its second
// when it sounds in two ways. A word of one letter is its own code. No words: nil.
func Codes(name string) []string {
	var codes []string
	seen := map[string]bool{"": true}
	for _, word := range words(name) {
		for _, code := range codesOf(word) {
			if !seen[code] {
				seen[code] = true
				codes = append(codes, code)
			}
		}
	}
	return codes
}

func codesOf(word string) []string {
	if len(word) == 1 {
		return []string{strings.ToUpper(word)}
	}
	spelled := respell(word)
	first, second := matchr.DoubleMetaphone(strings.ToUpper(spelled))
	first, second = strings.TrimSpace(first), strings.TrimSpace(second) // it pads some words with a blank
	if startsWithVowel(second) && !startsWithVowel(first) {
		second = "" // J as in José, which is not how it sounds here
	}
	codes := []string{first, second}
	// In the east v is said as b, and written so: Bimal is Vimal. No other code begins with B, so that neither meets P or
	// F.
	if (spelled[0] == 'v' || spelled[0] == 'b') && len(first) > 1 {
		codes = append(codes, "B"+first[1:])
	}
	return codes
}

// startsWithVowel reports whether a code begins with A, which stands for every vowel.
func startsWithVowel(code string) bool { return strings.HasPrefix(code, "A") }

// words folds name and returns its runs of a to z. Marks go first, so that é and e are one letter; an apostrophe
// joins: D'Souza is one word.
func words(name string) []string {
	var folded strings.Builder
	for _, r := range norm.NFKD.String(name) {
		r = unicode.ToLower(r)
		switch {
		case unicode.Is(unicode.Mn, r) || r == '\'' || r == '’':
		case special[r] != "":
			folded.WriteString(special[r])
		case r >= 'a' && r <= 'z':
			folded.WriteRune(r)
		default:
			folded.WriteByte(' ')
		}
	}
	return strings.Fields(folded.String())
}

// special are letters that do not decompose.
var special = map[rune]string{
	'ß': "ss",
	'æ': "ae",
	'œ': "oe",
	'ø': "o",
	'ł': "l",
	'đ': "d",
	'ð': "d",
	'þ': "th",
	'ı': "i",
}
