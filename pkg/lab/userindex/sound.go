package userindex

import (
	"slices"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/lab/phonetic"
)

// Prefixes of the consonants of a word: as it is spoken, and of a script that does not write vowels.
const (
	spoken      = "*"
	unvocalized = "~"
	article     = "al" // as it sounds
)

// Consonants by which a word is found: beside others, and alone in a script that does not write vowels.
const (
	minConsonants      = 2
	minConsonantsAlone = 3
)

// SoundForms returns the forms by which a name is found by a text that sounds alike.
func SoundForms(name string) []string {
	var all []string
	for _, word := range sounds(name) {
		all = append(all, word.codes...)
		all = append(all, prefixed(spoken, voiceless(word.spoken))...)
		all = append(all, prefixed(unvocalized, word.unvocalized)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// SoundTexts returns the forms of each word of a text: a name that sounds like the text has one form of each. A word
// alone has to agree in its vowels, if both scripts write them; beside others its consonants are enough. The article is
// no word.
func SoundTexts(text string, alone bool) [][]string {
	var all [][]string
	words := sounds(text)
	for _, word := range words {
		if len(words) > 1 && slices.Contains(word.unvocalized, article) {
			continue
		}
		forms := slices.Concat(word.codes, prefixed(unvocalized, word.unvocalized),
			prefixed(spoken, voiceless(word.unvocalized)))
		if !alone || !slices.Contains(word.articled, article) {
			forms = append(forms, prefixed(unvocalized, word.articled)...)
		}
		if alone {
			forms = append(forms, prefixed(unvocalized, atLeast(minConsonantsAlone, word.spoken))...)
		} else {
			enough := atLeast(minConsonants, word.spoken)
			forms = append(append(forms, prefixed(unvocalized, enough)...), prefixed(spoken, voiceless(enough))...)
		}
		slices.Sort(forms)
		all = append(all, slices.Compact(forms))
	}
	return all
}

// OldSoundForms returns SoundForms, and SoundTexts, of an index of OldSchema.
func OldSoundForms(name string) []string { return phonetic.OldCodes(indianLatin(name)) }

// sound is how a word sounds, in each of its readings: either with vowels, or without. articled is how Arabic writes a
// word of Latin letters in which its article is heard otherwise.
type sound struct{ codes, spoken, unvocalized, articled []string }

// sounds returns the sounds of the words of a text. A word of Chinese, or with an article, is several in Latin letters.
func sounds(text string) []sound {
	var all []sound
	for _, word := range strings.Fields(Plain(text)) {
		if strings.ContainsFunc(word, arabic) {
			all = append(all, unvocalizedSounds(strings.TrimFunc(word, unicode.IsPunct))...)
			continue
		}
		var parts []sound
		for _, reading := range readings(word) {
			for i, latin := range strings.Fields(reading) {
				if i == len(parts) {
					parts = append(parts, sound{articled: articled(strings.ToLower(latin))})
				}
				for _, word := range phonetic.Words(latin) {
					parts[i].codes = append(parts[i].codes, word.Codes...)
					parts[i].spoken = append(parts[i].spoken, word.Consonants)
				}
			}
		}
		all = append(all, parts...)
	}
	return slices.DeleteFunc(all, func(s sound) bool { return len(s.codes)+len(s.unvocalized) == 0 })
}

func atLeast(consonants int, of []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(c string) bool { return len(c) < consonants })
}

func voiceless(of []string) []string {
	all := make([]string, len(of))
	for i, code := range of {
		all[i] = phonetic.Voiceless(code)
	}
	return all
}

func prefixed(prefix string, codes []string) []string {
	all := make([]string, len(codes))
	for i, code := range codes {
		all[i] = prefix + code
	}
	return all
}

// readings returns the transliterations of a word, which may be spoken in several ways. Tamil writes voiced and
// voiceless consonants alike, at the beginning of a word and within it. What is kh in Russian and g in Ukrainian is
// often written h.
func readings(word string) []string {
	latin := Latin(word)
	switch {
	case latin == "" || latin == word:
		return []string{latin}
	case strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }):
		return []string{latin, russian.Replace(latin), ukrainian.Replace(latin)}
	case strings.ContainsFunc(word, func(r rune) bool { return r >= tamil && r < telugu }):
		first, rest := latin[:1], latin[1:]
		other, loud := initial.Replace(first), voiced.Replace(rest)
		return []string{latin, first + loud, other + rest, other + loud}
	}
	return []string{latin}
}

var (
	russian   = strings.NewReplacer("kh", "h", "Kh", "H")
	ukrainian = strings.NewReplacer("g", "h", "G", "H")
)

// initial maps the beginning of a word to its other pronunciation: Sandiran is Chandran.
var initial = strings.NewReplacer("k", "g", "t", "d", "p", "b", "s", "ch")

var voiced = strings.NewReplacer("kk", "kk", "tt", "tt", "pp", "pp", "k", "g", "t", "d", "p", "b")
