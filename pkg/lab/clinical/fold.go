package clinical

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// containsFolded reports whether text equals one of texts after folding both and removing what trim removes at the
// ends.
func containsFolded(texts []string, text string, trim func(string) string) bool {
	if len(text) > maxValue {
		return false
	}
	text = trim(fold(text))
	if text == "" {
		return false // only punctuation; all such texts would be equal
	}
	for _, t := range texts {
		if trim(fold(t)) == text {
			return true
		}
	}
	return false
}

// fold returns s in Unicode's compatible form (fullwidth letters become plain ones), in lower case, without invisible
// characters, and with single spaces.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

func withoutFullStop(s string) string { return strings.TrimSpace(strings.TrimSuffix(s, ".")) }

// withoutPunctuation removes punctuation, arrows and spaces at both ends. Signs stay: "+" and "++" are results.
func withoutPunctuation(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsPunct(r) || unicode.IsSpace(r) || strings.ContainsRune(arrows, r)
	})
}
