package phonetic

import (
	"slices"
	"strings"
)

const (
	// long is the minimum number of sounds for a code of consonants only. Codes of shorter words include vowels, because
	// too many names share the same two or three consonants.
	long = 4
	// longer is the minimum number of sounds for codes that do not distinguish voiced and voiceless consonants.
	longer = 5
)

// Word is the pronunciation of a word.
type Word struct {
	Codes      []string // several if the word has several pronunciations; a word of one letter is its own code
	Consonants string   // begins with an a if the word begins with a vowel
}

// Words returns the pronunciations of the words of name, in their order.
func Words(name string) []Word {
	of := words(name)
	all := make([]Word, len(of))
	for i, word := range of {
		spelled := respell(word)
		heard := sounds(spelled)
		bare := consonants(heard)
		all[i] = Word{codesOf(spelled, heard, bare), bare}
	}
	return all
}

// Codes returns the distinct codes of the words of name in their order. It is nil without words.
func Codes(name string) []string {
	var all []string
	for _, word := range Words(name) {
		all = appendNew(all, word.Codes)
	}
	return all
}

func appendNew(all, codes []string) []string {
	for _, code := range codes {
		if code != "" && !slices.Contains(all, code) {
			all = append(all, code)
		}
	}
	return all
}

// Unvocalized returns the possible Consonants of a word in a script without vowels. Two are returned, because it is
// unknown whether an h is pronounced. letters are the transliterations of its letters.
func Unvocalized(letters []string) []string {
	var every, heard strings.Builder
	for i, letter := range letters {
		switch spelled := respell(letter); {
		case spelled == "":
		case spelled == "y" && i == 0, !isVowel(spelled[0]):
			every.WriteString(spelled[:1])
			if spelled != "h" || i == 0 {
				heard.WriteString(spelled[:1])
			}
		case i == 0:
			every.WriteByte('a')
			heard.WriteByte('a')
		}
	}
	return []string{every.String(), heard.String()}
}

// Voiceless replaces the voiced consonants of a code by voiceless ones.
func Voiceless(code string) string { return voiceless.Replace(code) }

func codesOf(spelled string, heard []sound, bare string) []string {
	if len(spelled) == 1 {
		return []string{spelled}
	}
	all := code(heard, spelled, bare)
	switch {
	case spelled[0] == 'v': // in eastern India v is pronounced and written as b: Bimal is Vimal
		b := slices.Clone(heard)
		b[0].letters = "b"
		all = append(all, code(b, spelled, "b"+bare[1:])...)
	case strings.HasPrefix(spelled, "ye"): // Yevgenia is Evgenia
		without := sounds(spelled[1:])
		all = append(all, code(without, spelled[1:], consonants(without))...)
	}
	return all
}

func consonants(heard []sound) string {
	bare := make([]byte, 0, len(heard))
	for i, s := range heard {
		switch {
		case !s.vowel:
			bare = append(bare, s.letters...)
		case i == 0:
			bare = append(bare, 'a')
		}
	}
	return string(bare)
}

// code returns the codes of a word with these sounds. A word of one sound is its own code.
func code(heard []sound, spelled, bare string) []string {
	last := heard[len(heard)-1]
	switch size := len(bare); {
	case size < 2:
		return []string{oneSound.Replace(spelled)}
	case size >= longer:
		return []string{voiceless.Replace(bare)}
	case size >= long && last.vowel:
		return each([]string{bare}, endings(last.letters, false))
	case size >= long:
		return []string{bare}
	}
	return withVowels(heard, len(bare))
}

// oneSound unifies the spellings of words of one sound: Ray and Rai; in Bengal, also Roy.
var oneSound = strings.NewReplacer("oy", "ai", "oi", "ai", "y", "i")

var voiceless = strings.NewReplacer("b", "p", "d", "t", "g", "k", "v", "f")

// withVowels returns the codes of a short word. They have its consonants, the sound of its first vowel, and the
// positions of later vowels.
func withVowels(of []sound, size int) []string {
	all, first := []string{""}, true
	for i, s := range of {
		switch {
		case !s.vowel:
			all = each(all, []string{s.letters})
		case first:
			all, first = each(all, qualities(s.letters)), false
		case i == len(of)-1:
			all = each(all, endings(s.letters, size < long-1))
		default:
			all = each(all, later(s.letters))
		}
	}
	return all
}

// each returns every combination of a text and an ending.
func each(texts, endings []string) []string {
	all := make([]string, 0, len(texts)*len(endings))
	for _, text := range texts {
		for _, ending := range endings {
			all = append(all, text+ending)
		}
	}
	return all
}
