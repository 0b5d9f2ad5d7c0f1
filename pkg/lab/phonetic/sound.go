package phonetic

import "strings"

// sound is a consonant, or a run of vowels.
type sound struct {
	letters string
	vowel   bool
}

func isVowel(letter byte) bool { return strings.IndexByte("aeiouy", letter) >= 0 }

// sounds splits a reduced spelling. An h is heard only at the start of a word and between vowels,
// unless every one is.
func sounds(spelled string, everyH bool) []sound {
	var all []sound
	add := func(letters string, vowel bool) {
		if n := len(all); n > 0 && vowel && all[n-1].vowel {
			all[n-1].letters += letters
			return
		}
		all = append(all, sound{letters, vowel})
	}
	for i := 0; i < len(spelled); i++ {
		letter, before, next := spelled[i], byte(0), byte(0)
		if i > 0 {
			before = spelled[i-1]
		}
		if i+1 < len(spelled) {
			next = spelled[i+1]
		}
		switch {
		case i == 0 && (letter == 'y' || letter == 'i') && strings.IndexByte("aeou", next) >= 0:
			add("y", false) // Iulia is Yulia
		case isVowel(letter):
			add(string(letter), true)
		case letter == 'h' && i > 0 && !everyH && !(isVowel(before) && isVowel(next)): // silent
		case letter == 'x':
			add("k", false)
			add("s", false)
		case letter == 'c' && next == 'h':
			add("c", false)
			i++
		case letter == 'c' && strings.IndexByte("eiy", next) >= 0:
			add("s", false)
		case letter == 'c':
			add("k", false)
		default:
			add(string(letter), false)
		}
	}
	return all
}

// qualities returns how a run of vowels may sound: open (a), front (i) or back (u). An e is written for a and for i.
func qualities(run string) []string {
	for len(run) > 1 && (run[0] == 'y' || run[0] == 'i') { // a glide
		run = run[1:]
	}
	switch {
	case strings.HasPrefix(run, "au"):
		return []string{"a", "u"}
	case run[0] == 'e':
		return []string{"a", "i"}
	case strings.HasPrefix(run, "oe"), strings.HasPrefix(run, "oa"):
		return []string{"o"}
	case run[0] == 'o', run[0] == 'u':
		return []string{"u"}
	case run[0] == 'a':
		return []string{"a"}
	}
	return []string{"i"}
}

// later returns how a vowel after the first one may sound: front, or otherwise, which is written as open.
func later(run, open string) []string {
	var all []string
	for _, quality := range qualities(run) {
		if quality != "i" {
			quality = open
		}
		if len(all) == 0 || all[len(all)-1] != quality {
			all = append(all, quality)
		}
	}
	return all
}

// endings returns how the vowel at the end of a word may sound.
func endings(run, open string) []string {
	if len(run) > 1 && (run[0] == 'y' || run[0] == 'i') { // Saumya does not end like Souma
		return []string{"_y"}
	}
	all := later(run, open)
	for i, ending := range all {
		if ending == "i" {
			all[i] = "_i"
		}
	}
	return all
}
