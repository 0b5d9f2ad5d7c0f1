package main

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

// rule is one phrase to avoid.
type rule struct {
	name string // name in the findings
	key  string // lower-case text in every match; files without it are skipped
	re   *regexp.Regexp
	hint string
	in   func(file string) bool // files that the rule applies to; nil: all
	// unlessQuestion ignores matches in a sentence that ends with a question mark.
	unlessQuestion bool
}

func (r rule) reads(file string) bool { return r.in == nil || r.in(file) }

// gap matches the space between two words: blanks, or one line break with the blanks around it.
const gap = `(?:[ \t]+|[ \t]*\n[ \t]*)`

// phrase returns a rule for a regular expression in which a blank stands for any gap.
func phrase(name, key, expression, hint string) rule {
	expression = strings.ReplaceAll(expression, " ", gap)
	return rule{name: name, key: key, re: regexp.MustCompile(`(?i)\b(?:` + expression + `)\b`), hint: hint}
}

var phrases = []rule{
	phrase("tells whether", "whether", "tells whether", "reports whether"),
	phrase("tells that, tells of", "tells", "tells (?:that|of)", "reports that; returned when"),
	phrase("says whether, says that, says so", "says", "says (?:whether|that|so)", "reports, states"),
	phrase("is no error", "error", "(?:is|are) no errors?", "is ignored; returns nil"),
	phrase("goes on, trying on", " on", "(?:goes|go|trying) on", "continues, retries"),
	phrase("is away", "away", "(?:is|are) away", "is unavailable"),
	phrase("is gone", "gone", "(?:is|are) gone", "no longer exists"),
	phrase("is born", "born", "(?:is|are|was|were) born", "is created"),
	phrase("what became of", "became", "what became of", "by outcome"),
	phrase("those that, those who", "those", "those (?:that|who)", "the noun instead of \"those\""),
	phrase("looks at", "look", "(?:looks|looked|a look) at", "checks, reads, inspects"),
	phrase("left alone", "alone", `left alone|leaves? (?:[\w'-]+ ){1,5}alone`, "skipped, paused"),
	phrase("not any more", "more", "not any more", "no longer"),
	phrase("for a while, in vain", "", "for a while|in vain", "for N seconds; without effect"),
	phrase("comes back, takes over", "", "comes back|takes over", "recovers; becomes leader"),
	phrase("works out", "works", "works out", "computes"),
	phrase("have theirs, is theirs", "theirs", "(?:have|has|is|are) theirs", "the thing by its name"),
	phrase("nobody", "nobody", "nobody", "no one, or the passive"),
	{name: "Who as a subject", key: "who", re: regexp.MustCompile(`\bWho` + gap + `[a-z]+\b`), hint: "the subject first",
		unlessQuestion: true},
	{name: "X implements Y", key: "implements", re: implements, in: isGo,
		hint: "var _ Y = X{} beside the type, and no comment that says it"},
}

// implements matches a comment that consists of this sentence only; the code around it is hidden.
var implements = regexp.MustCompile(`(?:\A|\x00|\n[ \t]*\n)\s*` +
	`(\w+ implements [\w.]+(?: and [\w.]+)*)\.?[ \t]*\n[ \t]*(?:\x00|\n|\z)`)

func isGo(file string) bool { return path.Ext(file) == ".go" }

var typo = regexp.MustCompile(`\{typo: ([a-z]+), *correction: ([a-z]+)\}`)

// wordRules returns rules for the words that the linter misspell rejects. They apply to all files except Go files,
// which the linter reads.
func wordRules(config string) []rule {
	var rules []rule
	for _, found := range typo.FindAllStringSubmatch(config, -1) {
		r := phrase(found[1], found[1], found[1], found[2])
		r.in = func(file string) bool { return !isGo(file) }
		rules = append(rules, r)
	}
	return rules
}

func allRules() ([]rule, error) {
	config, err := os.ReadFile(".golangci.yml")
	if err != nil {
		return nil, err
	}
	words := wordRules(string(config))
	if len(words) == 0 {
		return nil, fmt.Errorf(".golangci.yml has no extra-words for misspell: the words come from there")
	}
	return append(phrases, words...), nil
}
