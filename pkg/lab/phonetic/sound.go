package phonetic

import "strings"

// sound is a consonant, or a run of vowels.
type sound struct {
	letters string
	vowel   bool
}

func isVowel(letter byte) bool { return strings.IndexByte("aeiouy", letter) >= 0 }

// sounds splits a reduced spelling. An h is heard only at the start of a word and between vowels.
func sounds(spelled string) []sound {
	all := make([]sound, 0, len(spelled))
	for i := 0; i < len(spelled); i++ {
		letter, next := spelled[i], byte(0)
		if i+1 < len(spelled) {
			next = spelled[i+1]
		}
		switch {
		case i == 0 && (letter == 'y' || letter == 'i') && strings.IndexByte("aeou", next) >= 0:
			all = append(all, sound{"y", false}) // Iulia is Yulia
		case isVowel(letter):
			end := i + 1
			for end < len(spelled) && isVowel(spelled[end]) {
				end++
			}
			all = append(all, sound{spelled[i:end], true})
			i = end - 1
		case letter == 'h' && i > 0 && (!isVowel(spelled[i-1]) || !isVowel(next)): // a silent h
		case letter == 'x':
			all = append(all, sound{"k", false}, sound{"s", false})
		case letter == 'c' && next == 'h':
			all = append(all, sound{"c", false})
			i++
		case letter == 'c' && strings.IndexByte("eiy", next) >= 0:
			all = append(all, sound{"s", false})
		case letter == 'c':
			all = append(all, sound{"k", false})
		default:
			all = append(all, sound{spelled[i : i+1], false})
		}
	}
	return all
}

// qualities returns the possible sounds of a run of vowels: open (a), front (i), back (u), or a diphthong (e, o). An e
// has several, because it is written for many sounds.
func qualities(run string) []string {
	run = withoutGlide(run)
	switch {
	case strings.HasPrefix(run, "au"):
		return []string{"a", "u"}
	case strings.HasPrefix(run, "ai"), strings.HasPrefix(run, "ay"):
		return []string{"e"}
	case strings.HasPrefix(run, "ae"):
		return []string{"a", "e"}
	case strings.HasPrefix(run, "oi"), strings.HasPrefix(run, "oy"):
		return []string{"u", "e"}
	case strings.HasPrefix(run, "oe"), strings.HasPrefix(run, "oa"):
		return []string{"o"}
	case run[0] == 'e':
		return []string{"a", "i", "e"}
	case run[0] == 'o':
		return []string{"u"}
	case run[0] == 'y':
		return []string{"i"}
	}
	return []string{run[:1]}
}

func withoutGlide(run string) string {
	for len(run) > 1 && (run[0] == 'y' || run[0] == 'i') {
		run = run[1:]
	}
	return run
}

// later returns the possible sounds of a vowel after the first one: front, or open. A short open vowel may be missing,
// because spellings differ: Chaudhri is Chaudhary.
func later(run string) []string {
	var all []string
	for _, quality := range qualities(run) {
		switch {
		case quality == "i":
		case len(withoutGlide(run)) > 1:
			quality = "a"
		default:
			quality = ""
		}
		if len(all) == 0 || all[len(all)-1] != quality {
			all = append(all, quality)
		}
	}
	return all
}

// endings returns the possible sounds of the vowel at the end of a word. An open one may be missing after several
// consonants, because spellings differ.
func endings(run string, short bool) []string {
	if len(run) > 1 && (run[0] == 'y' || run[0] == 'i') { // Saumya does not end like Souma
		return []string{"_y"}
	}
	var all []string
	for _, quality := range qualities(run) {
		ending := "_" + quality
		if !short && quality != "i" && quality != "u" {
			ending = ""
		}
		if len(all) == 0 || all[len(all)-1] != ending {
			all = append(all, ending)
		}
	}
	return all
}
