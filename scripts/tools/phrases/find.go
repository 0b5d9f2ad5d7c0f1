package main

import (
	"fmt"
	"path"
	"strings"
)

// finding is one match of a rule.
type finding struct {
	file   string
	line   int
	phrase string
	hint   string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %q: write %s", f.file, f.line, f.phrase, f.hint)
}

// findIn returns the matches in a text in which everything except prose is hidden.
func findIn(rules []rule, file, text string) []finding {
	var found []finding
	lower := strings.ToLower(text)
	for _, r := range rules {
		if !strings.Contains(lower, r.key) || !r.reads(file) {
			continue
		}
		for _, at := range r.re.FindAllStringSubmatchIndex(text, -1) {
			start := at[0]
			if len(at) > 2 {
				start = at[2]
			}
			if r.unlessQuestion && isQuestion(text[start:]) {
				continue
			}
			line := 1 + strings.Count(text[:start], "\n")
			found = append(found, finding{file: file, line: line, phrase: r.name, hint: r.hint})
		}
	}
	return found
}

func isQuestion(text string) bool {
	end := strings.IndexAny(text, ".!?\x00")
	return end >= 0 && text[end] == '?'
}

const maxWords = 1200

// tooLong returns a finding for a README of more than maxWords words; longer texts belong to docs/design. It ignores
// the charts' READMEs, which are tables written by `make charts-update`.
func tooLong(file, text string) []finding {
	if path.Base(file) != "README.md" || strings.HasPrefix(file, "charts/") {
		return nil
	}
	words := len(strings.Fields(text))
	if words <= maxWords {
		return nil
	}
	return []finding{{file: file, line: 1, phrase: "words above 1,200 in README.md",
		hint: fmt.Sprintf("at most %d words, not %d: docs/design is the place for more", maxWords, words)}}
}
