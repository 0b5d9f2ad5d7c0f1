package phonetic

import "strings"

const (
	// long is the number of sounds from which a word is known by its consonants. Shorter ones need more agreement: there
	// are too many names with the same two or three consonants.
	long = 4
	// longer is the number of sounds from which voiced and voiceless consonants are equal.
	longer = 5
)

// Codes returns the distinct codes of the words of name in their order. A word has several codes if it may be
// pronounced in several ways. A word of one letter is its own code. The result is nil without words.
func Codes(name string) []string { return codes(name, codesOf) }

// Consonants returns the distinct consonants of the words of name, voiced and voiceless ones alike.
func Consonants(name string) []string {
	return codes(name, func(word string) []string { return []string{consonants(sounds(respell(word), false))} })
}

// Unvocalized returns Consonants of a name from a script that does not write vowels, and therefore not whether an h is
// heard.
func Unvocalized(name string) []string {
	return codes(name, func(word string) []string {
		all := consonants(sounds(respell(word), true))
		return []string{all, all[:1] + strings.ReplaceAll(all[1:], "h", "")}
	})
}

// consonants joins the consonants of a word; an a stands for a vowel at its beginning.
func consonants(of []sound) string {
	var bare strings.Builder
	for i, s := range of {
		switch {
		case !s.vowel:
			bare.WriteString(s.letters)
		case i == 0:
			bare.WriteByte('a')
		}
	}
	return voiceless.Replace(bare.String())
}

func codes(name string, of func(word string) []string) []string {
	var all []string
	seen := map[string]bool{"": true}
	for _, word := range words(name) {
		for _, code := range of(word) {
			if !seen[code] {
				seen[code] = true
				all = append(all, code)
			}
		}
	}
	return all
}

func codesOf(word string) []string {
	if len(word) == 1 {
		return []string{word}
	}
	spelled := respell(word)
	all := code(sounds(spelled, false), spelled)
	switch {
	case spelled[0] == 'v': // in eastern India v is pronounced and written as b: Bimal is Vimal
		b := "b" + spelled[1:]
		all = append(all, code(sounds(b, false), b)...)
	case strings.HasPrefix(spelled, "ye"): // Yevgenia is Evgenia
		all = append(all, code(sounds(spelled[1:], false), spelled[1:])...)
	}
	return all
}

// code returns the codes of a word with these sounds. A word of one sound is known by its spelling.
func code(of []sound, spelled string) []string {
	size, bare := 0, ""
	for i, s := range of {
		switch {
		case !s.vowel:
			size, bare = size+1, bare+s.letters
		case i == 0:
			size, bare = size+1, "a"
		}
	}
	switch {
	case size < 2:
		return []string{strings.ReplaceAll(spelled, "y", "i")}
	case size >= longer:
		return []string{voiceless.Replace(bare)}
	case size >= long:
		return []string{bare}
	}
	return withVowels(of, size)
}

var voiceless = strings.NewReplacer("b", "p", "d", "t", "g", "k", "v", "f")

// withVowels returns the codes of a short word: its consonants, the sound of its first vowel, and where a later one is
// or ends the word. An a that follows is not written by everybody: Chaudhri is Chaudhary.
func withVowels(of []sound, size int) []string {
	all, first := []string{""}, true
	for i, s := range of {
		last := i == len(of)-1
		switch {
		case !s.vowel:
			all = each(all, []string{s.letters})
		case first:
			all, first = each(all, qualities(s.letters)), false
		case last && size < long-1:
			all = each(all, endings(s.letters, "_a"))
		case last:
			all = each(all, endings(s.letters, ""))
		default:
			all = each(all, later(s.letters, ""))
		}
	}
	return all
}

// each appends each ending to each text.
func each(texts, endings []string) []string {
	all := make([]string, 0, len(texts)*len(endings))
	for _, text := range texts {
		for _, ending := range endings {
			all = append(all, text+ending)
		}
	}
	return all
}
