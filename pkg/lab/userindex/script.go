package userindex

import "strings"

// In Unicode, the Indian scripts are blocks of 128 characters with the same letter at the same offset.
const (
	firstBlock = 0x0900 // Devanagari
	lastBlock  = 0x0d7f // Malayalam
	blockSize  = 0x80
	tamil      = 0x0b80
	telugu     = 0x0c00
)

// consonants are the Latin transliterations of the consonants from offset 0x15, as in ISO 15919 without diacritics.
var consonants = strings.Fields(
	"k kh g gh n ch chh j jh n t th d dh n t th d dh n n p ph b bh m y r r l l zh v sh sh s h",
)

// vowels are the independent vowels from offset 0x05; signs are the vowel signs from offset 0x3e.
var (
	vowels = strings.Fields("a a i i u u ri li e e e ai o o o au")
	signs  = strings.Fields("a i i u u ri ri e e e ai o o o au")
)

const (
	firstConsonant, lastConsonant = 0x15, 0x39
	firstVowel, lastVowel         = 0x05, 0x14
	firstSign, lastSign           = 0x3e, 0x4c
	nukta, virama                 = 0x3c, 0x4d
)

// others lists letters that only one block has.
var others = map[rune]string{
	0x0950: "om",
	0x09ce: "t",
	0x09df: "y",
	0x09f0: "r",
	0x09f1: "v",
	0x0a70: "n",
	0x095b: "z",
	0x095c: "r",
	0x095e: "f",
	0x09dc: "r",
	0x0a5c: "r",
	0x0a5e: "f",
	0x0a5b: "z",
	0x0d7a: "n",
	0x0d7b: "n",
	0x0d7c: "r",
	0x0d7d: "l",
	0x0d7e: "l",
	0x0d7f: "k",
}

// indianLatin transliterates Indian scripts into Latin letters, as names are usually written; other text is unchanged.
// In northern scripts and Tamil the inherent a of a consonant is omitted at the end of a word, where it is not
// pronounced.
func indianLatin(text string) string {
	if !strings.ContainsFunc(text, indian) {
		return text
	}
	var out strings.Builder
	inherent := false // whether the last consonant still has its inherent a
	var script rune
	end := func(within bool) {
		if inherent && (within || script >= telugu) {
			out.WriteByte('a')
		}
		inherent = false
	}
	for _, r := range text {
		if !indian(r) {
			end(false)
			out.WriteRune(r)
			continue
		}
		script = r - r%blockSize
		offset := r % blockSize
		switch {
		case offset >= firstConsonant && offset <= lastConsonant:
			end(true)
			out.WriteString(consonant(script, offset))
			inherent = true
		case offset >= firstSign && offset <= lastSign:
			inherent = false
			out.WriteString(signs[offset-firstSign])
		case offset == virama:
			inherent = false
		case offset == nukta:
		default:
			end(true)
			out.WriteString(other(r, offset))
		}
	}
	end(false)
	return nasals.Replace(out.String())
}

// nasals adapts the nasal sign to the next letter.
var nasals = strings.NewReplacer("np", "mp", "nb", "mb")

func consonant(script, offset rune) string {
	if letter := consonants[offset-firstConsonant]; script != tamil || letter != "ch" {
		return letter
	}
	return "s"
}

func other(r, offset rune) string {
	switch {
	case others[r] != "":
		return others[r]
	case offset >= firstVowel && offset <= lastVowel:
		return vowels[offset-firstVowel]
	case offset == 1 || offset == 2:
		return "n"
	case offset == 3:
		return "h"
	case offset >= 0x66 && offset <= 0x6f:
		return string('0' + offset - 0x66)
	}
	return ""
}

func indian(r rune) bool { return r >= firstBlock && r <= lastBlock }
