package phonetic

import "strings"

// spellings maps variants to the reduced spelling. Replacements are tried from the top at each position, so longer ones
// come first.
var (
	spellings    = strings.NewReplacer(append([]string{"sch", "s", "gny", "gy", "qui", "ki", "que", "ke"}, usual...)...)
	oldSpellings = strings.NewReplacer(usual...)
)

var usual = []string{
	"dny", "gy", "jny", "gy", "jn", "gy",
	"ksh", "x", "chh", "ch", "tch", "ch",
	"sh", "s", "th", "t", "dh", "d", "bh", "b", "kh", "k", "gh", "g", "ph", "f", "jh", "j",
	"aa", "a", "ee", "i", "ii", "i", "oo", "u", "uu", "u", "ou", "au", "ow", "au",
	"w", "v", "q", "k", "z", "j",
}

// short maps common abbreviations to names.
var short = map[string]string{
	"md":     "mohammed",
	"mohd":   "mohammed",
	"mohmd":  "mohammed",
	"muhd":   "mohammed",
	"mohamd": "mohammed",
}

// oldRespell returns the reduced spelling of word for the codes of the previous schema.
func oldRespell(word string) string { return reduce(word, oldSpellings) }

func reduce(word string, by *strings.Replacer) string {
	if long := short[word]; long != "" {
		word = long
	}
	if strings.HasSuffix(word, "bh") {
		word = strings.TrimSuffix(word, "bh") + "v"
	}
	return single(by.Replace(word))
}

// respell returns the reduced spelling of word, which must consist of the letters a to z.
func respell(word string) string {
	switch {
	case strings.HasSuffix(word, "nathan"): // Viswanathan is Vishwanath
		word = strings.TrimSuffix(word, "an")
	case strings.HasSuffix(word, "deo"): // Mahadeo is Mahadev
		word = strings.TrimSuffix(word, "o") + "v"
	}
	if rest, ok := strings.CutPrefix(word, "gn"); ok && !strings.HasPrefix(rest, "y") { // Gnaneshwar is Gyaneshwar
		word = "gy" + rest
	}
	return reduce(word, spellings)
}

// single removes repeated neighbouring letters.
func single(word string) string {
	out := make([]byte, 0, len(word))
	for i := range len(word) {
		if i == 0 || word[i] != word[i-1] {
			out = append(out, word[i])
		}
	}
	return string(out)
}
