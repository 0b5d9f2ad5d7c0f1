package phonetic

import (
	"strings"
	"unicode"

	"github.com/antzucaro/matchr"
	"golang.org/x/text/unicode/norm"
)

// Codes returns the distinct codes of the words of name in their order. Each word has a first code, a second one if it
// may be pronounced in two ways, and one more if it starts with v or b. A word of one letter is its own code. The
// result is nil without words.
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
	first, second = strings.TrimSpace(first), strings.TrimSpace(second) // the library ends some codes with a space
	if startsWithVowel(second) && !startsWithVowel(first) {
		second = "" // J as in José, a pronunciation not used for Indian names
	}
	codes := []string{first, second}
	// In eastern India v is pronounced and written as b: Bimal is Vimal. No other code starts with B, so these codes do
	// not collide with P or F.
	if (spelled[0] == 'v' || spelled[0] == 'b') && len(first) > 1 {
		codes = append(codes, "B"+first[1:])
	}
	return codes
}

// startsWithVowel reports whether a code starts with A, which stands for every vowel.
func startsWithVowel(code string) bool { return strings.HasPrefix(code, "A") }

// words returns the runs of a to z in the folded name. Diacritics are removed first, so that é equals e. An apostrophe
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

// special lists letters that do not decompose in Unicode.
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
