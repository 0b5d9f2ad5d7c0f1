package phonetic

import "strings"

// spellings are read at each position from the top, so the longer come first.
var spellings = strings.NewReplacer(
	"ksh", "x", "chh", "ch", "tch", "ch",
	"sh", "s", "th", "t", "dh", "d", "bh", "b", "kh", "k", "gh", "g", "ph", "f", "jh", "j",
	"aa", "a", "ee", "i", "ii", "i", "oo", "u", "uu", "u", "ou", "au", "ow", "au",
	"w", "v", "q", "k",
)

// respell writes word, letters a to z, in the one spelling that all usual spellings share.
func respell(word string) string {
	return single(spellings.Replace(word))
}

// single keeps one of equal neighbours.
func single(word string) string {
	out := make([]byte, 0, len(word))
	for i := range len(word) {
		if i == 0 || word[i] != word[i-1] {
			out = append(out, word[i])
		}
	}
	return string(out)
}
