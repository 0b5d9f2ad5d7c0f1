package phonetic

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// words returns the runs of a to z in the folded name. Diacritics are removed first, so that é equals e. An apostrophe
// joins: D'Souza is one word.
func words(name string) []string {
	var folded strings.Builder
	for _, r := range norm.NFKD.String(name) {
		r = unicode.ToLower(r)
		switch {
		case r >= 'a' && r <= 'z':
			folded.WriteRune(r)
		case unicode.Is(unicode.Mn, r) || r == '\'' || r == '’':
		case special[r] != "":
			folded.WriteString(special[r])
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
