package phonetic

import (
	"strings"

	"github.com/antzucaro/matchr"
)

// OldCodes returns the codes that an index of the previous schema has. They cover at most four sounds of a word,
// whatever its length.
func OldCodes(name string) []string {
	var all []string
	for _, word := range words(name) {
		all = appendNew(all, oldCodesOf(word))
	}
	return all
}

func oldCodesOf(word string) []string {
	if len(word) == 1 {
		return []string{strings.ToUpper(word)}
	}
	spelled := oldRespell(word)
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
