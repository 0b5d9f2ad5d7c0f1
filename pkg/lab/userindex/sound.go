package userindex

import (
	"slices"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/pkg/lab/phonetic"
)

// Prefixes of forms that consist of a word's consonants: as spoken, and as written in a script without vowels.
const (
	spoken      = "*"
	unvocalized = "~"
	article     = "al" // consonants of the Arabic article
)

// Minimum numbers of consonants to find a word: in a text of several words, and for a single word in a script without
// vowels.
const (
	minConsonants      = 2
	minConsonantsAlone = 3
)

// SoundForms returns the forms of a name by which similar-sounding texts find it.
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

// SoundTexts returns the forms of each word of a text. A name that sounds like the text has at least one form of each
// word. If alone is true, vowels must agree as well, when both scripts write them; otherwise the consonants suffice.
// The Arabic article does not count as a word.
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

// OldSoundForms returns the forms of an index of OldSchema, for names and for texts.
func OldSoundForms(name string) []string { return phonetic.OldCodes(indianLatin(name)) }

// sound is the possible pronunciations of a word: codes and spoken if its script writes vowels, otherwise unvocalized.
// articled are the consonants with which Arabic writes a Latin word that contains the article.
type sound struct{ codes, spoken, unvocalized, articled []string }

// sounds returns the sounds of the words of a text. A Chinese word, and one with an article, becomes several Latin
// words.
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

// readings returns the possible transliterations of a word. Tamil writes voiced and voiceless consonants with the same
// letters. A Russian kh and a Ukrainian g are often written as h.
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
