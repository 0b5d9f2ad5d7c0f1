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

const minConsonants = 2 // of a word that is found by them

// SoundForms returns the forms by which a name is found by a text that sounds alike.
func SoundForms(name string) []string {
	var all []string
	for _, word := range sounds(name) {
		all = append(all, word.codes...)
		all = append(all, prefixed(spoken, word.spoken)...)
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
		forms := append(slices.Clip(word.codes), prefixed(unvocalized, word.spoken)...)
		forms = append(append(forms, prefixed(unvocalized, word.unvocalized)...), prefixed(spoken, word.unvocalized)...)
		if !alone {
			enough := slices.DeleteFunc(slices.Clone(word.spoken), func(c string) bool { return len(c) < minConsonants })
			forms = append(forms, prefixed(spoken, enough)...)
		}
		slices.Sort(forms)
		all = append(all, slices.Compact(forms))
	}
	return all
}

// OldSoundForms returns SoundForms, and SoundTexts, of an index of OldSchema.
func OldSoundForms(name string) []string { return phonetic.OldCodes(indianLatin(name)) }

// sound is how a word sounds, in each of its readings: either with vowels, or without.
type sound struct{ codes, spoken, unvocalized []string }

// sounds returns the sounds of the words of a text. A word of Chinese, or with an article, is several in Latin letters.
func sounds(text string) []sound {
	var all []sound
	for _, word := range strings.Fields(Plain(text)) {
		withoutVowels := strings.ContainsFunc(word, arabic)
		var parts []sound
		for _, reading := range readings(word) {
			for i, latin := range strings.Fields(reading) {
				if i == len(parts) {
					parts = append(parts, sound{})
				}
				p := &parts[i]
				if withoutVowels {
					p.unvocalized = append(p.unvocalized, phonetic.Unvocalized(latin)...)
					continue
				}
				p.codes = append(p.codes, phonetic.Codes(latin)...)
				p.spoken = append(p.spoken, phonetic.Consonants(latin)...)
			}
		}
		all = append(all, parts...)
	}
	return slices.DeleteFunc(all, func(s sound) bool { return len(s.codes)+len(s.unvocalized) == 0 })
}

func prefixed(prefix string, codes []string) []string {
	all := make([]string, len(codes))
	for i, code := range codes {
		all[i] = prefix + code
	}
	return all
}

// readings returns the transliterations of a word, which may be spoken in several ways: Persian and Urdu have z and s
// where Arabic has d and t, and Tamil writes voiced and voiceless consonants alike, at the beginning of a word and
// within it. The letter that Russian has for h is often written kh.
func readings(word string) []string {
	latin := Latin(word)
	switch {
	case latin == "" || latin == word:
		return []string{latin}
	case strings.ContainsFunc(word, arabic):
		return []string{latin, Latin(dental.Replace(word))}
	case strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }):
		return []string{latin, guttural.Replace(latin)}
	case strings.ContainsFunc(word, func(r rune) bool { return r >= tamil && r < telugu }):
		first, rest := latin[:1], latin[1:]
		loud := voiced.Replace(rest)
		return []string{latin, first + loud, voiced.Replace(first) + rest, voiced.Replace(first) + loud}
	}
	return []string{latin}
}

var guttural = strings.NewReplacer("kh", "h", "Kh", "H")

var voiced = strings.NewReplacer("kk", "kk", "tt", "tt", "pp", "pp", "k", "g", "t", "d", "p", "b")
