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

// Consonants returns the distinct consonants of the words of name. An a stands for a vowel at the beginning of a word.
func Consonants(name string) []string {
	return codes(name, func(word string) []string {
		var bare strings.Builder
		for i, s := range sounds(respell(word)) {
			switch {
			case !s.vowel:
				bare.WriteString(s.letters)
			case i == 0:
				bare.WriteByte('a')
			}
		}
		return []string{bare.String()}
	})
}

// Unvocalized returns Consonants of a word in a script that does not write vowels, and therefore not whether an h is
// heard. letters are the transliterations of its letters.
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

// Voiceless makes voiced consonants of a code equal to voiceless ones.
func Voiceless(code string) string { return voiceless.Replace(code) }

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
	all := code(sounds(spelled), spelled)
	switch {
	case spelled[0] == 'v': // in eastern India v is pronounced and written as b: Bimal is Vimal
		b := "b" + spelled[1:]
		all = append(all, code(sounds(b), b)...)
	case strings.HasPrefix(spelled, "ye"): // Yevgenia is Evgenia
		all = append(all, code(sounds(spelled[1:]), spelled[1:])...)
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
		return []string{oneSound.Replace(spelled)}
	case size >= longer:
		return []string{voiceless.Replace(bare)}
	case size >= long && of[len(of)-1].vowel:
		return each([]string{bare}, endings(of[len(of)-1].letters, false))
	case size >= long:
		return []string{bare}
	}
	return withVowels(of, size)
}

// oneSound is for short words: Ray is Rai, and Roy in Bengal.
var oneSound = strings.NewReplacer("oy", "ai", "oi", "ai", "y", "i")

var voiceless = strings.NewReplacer("b", "p", "d", "t", "g", "k", "v", "f")

// withVowels returns the codes of a short word: its consonants, the sound of its first vowel, and where a later one is
// or ends the word.
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
