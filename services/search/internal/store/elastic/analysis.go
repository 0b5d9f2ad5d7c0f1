package elastic

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// analysis is what the index makes of a field's values and of what the field is asked, as the mapping of the pipeline
// says. A test on the engine proves that both find the same.
type analysis struct {
	base   string // the field whose values are taken apart
	set    int    // fields with the same terms share them
	pieces bool   // terms are pieces of the values, but for the case of letters
	index  func(values []string) []string
	asked  func(text string) []string
	like   func(term, asked string) bool // a term of the document answers one that is asked
	// any tells whether a document has one of the asked terms; set where all terms of a document are too many to be made.
	any func(s *source, asked []string) bool
}

// maxSets is enough for the terms of all fields.
const maxSets = 32

// analyses are all fields that queries compare.
var analyses = analysesOf()

func analysesOf() map[string]*analysis {
	m := map[string]*analysis{}
	sets := 0
	const pieces, changed = true, false
	add := func(pieces bool, index func([]string) []string, fields map[string]analysis) {
		for name, a := range fields {
			a.index, a.set, a.pieces = index, sets, pieces
			a.base, _, _ = strings.Cut(name, ".")
			m[name] = &a
		}
		sets++
	}
	for _, form := range []string{userindex.Sounds, userindex.Misspelled} {
		add(changed, same, map[string]analysis{form: {asked: one, like: equalTo}})
	}
	add(changed, same, map[string]analysis{userindex.Identifiers: {asked: one, any: (*source).identified}})
	add(changed, same, map[string]analysis{
		userindex.Joined: {asked: cut(strings.Fields, userindex.MaxForm), like: strings.HasPrefix},
	})
	for _, f := range table {
		name := string(f)
		switch f.Kind() {
		case search.Name:
			add(pieces, each(personWords), map[string]analysis{
				name:             {asked: personWords, like: equalTo},
				name + ".prefix": {asked: cut(personWords, maxBegun), like: strings.HasPrefix},
			})
			add(pieces, each(folded), map[string]analysis{name + ".keyword": {asked: folded, like: equalTo}})
		case search.Phone:
			add(changed, each(digits), map[string]analysis{
				name:             {asked: digits, like: equalTo},
				name + ".prefix": {asked: cut(digits, maxFirst), like: firstDigits},
				name + ".suffix": {asked: lastDigits, like: endsSo},
				name + ".middle": {asked: digits, like: strings.Contains},
			})
		case search.Mail, search.Day:
			add(pieces, each(folded), map[string]analysis{name: {asked: folded, like: equalTo}})
		case search.Segmented:
			add(pieces, each(segments), map[string]analysis{name + ".segment": {asked: segments, like: equalTo}})
			fallthrough
		case search.Identifier:
			add(pieces, each(folded), map[string]analysis{
				name:             {asked: folded, like: equalTo},
				name + ".prefix": {asked: cut(folded, userindex.MaxForm), like: strings.HasPrefix},
			})
		}
	}
	return m
}

const maxBegun = 15 // letters of a word of a name that are compared as its beginning

func equalTo(term, asked string) bool { return term == asked }

func firstDigits(term, asked string) bool {
	return len(asked) >= minFirst && strings.HasPrefix(term, asked)
}

func endsSo(term, asked string) bool { return len(asked) >= minLast && strings.HasSuffix(term, asked) }

func same(values []string) []string { return values }

func each(analyse func(string) []string) func([]string) []string {
	return func(values []string) []string {
		if len(values) == 1 {
			return analyse(values[0])
		}
		var all []string
		for _, v := range values {
			all = append(all, analyse(v)...)
		}
		return all
	}
}

// cut shortens terms that are asked to as many letters as the longest beginning in the index has.
func cut(analyse func(string) []string, letters int) func(string) []string {
	return func(text string) []string {
		terms := analyse(text)
		for i, t := range terms {
			if utf8.RuneCountInString(t) > letters {
				terms[i] = string([]rune(t)[:letters])
			}
		}
		return terms
	}
}

func folded(text string) []string { return []string{userindex.Fold(text)} }

func digits(text string) []string {
	return one(strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text))
}

func lastDigits(text string) []string {
	terms := digits(text)
	for i, t := range terms {
		terms[i] = t[max(0, len(t)-maxLast):]
	}
	return terms
}

var (
	withoutDots       = strings.NewReplacer(".", " ")
	withoutSeparators = strings.NewReplacer("-", " ", "/", " ", "~", " ")
)

func personWords(text string) []string { return foldAll(tokens(withoutDots.Replace(text))) }

func segments(text string) []string { return foldAll(tokens(withoutSeparators.Replace(text))) }

func foldAll(terms []string) []string {
	for i, t := range terms {
		terms[i] = userindex.Fold(t)
	}
	return terms
}

// plainTerms returns what the engine would make of a text that a field is asked, so that it need not. Nil when the text
// holds anything but ASCII, of which the engine knows more than we.
func plainTerms(field, text string) []string {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	base, part, _ := strings.Cut(field, ".")
	switch base {
	case userindex.Phones:
		base = string(search.Contact)
	case userindex.Whole:
		base = string(search.LabPatientID)
	case userindex.Segments:
		base, part = string(search.OrderNumbers), "segment"
	}
	analysed := part
	if part == "ends" {
		analysed = "suffix"
	}
	a := analyses[joinPart(base, analysed)]
	if a == nil {
		return nil
	}
	terms := a.asked(text)
	if part == "suffix" { // an index of the older schema holds beginnings of the number that is read backwards
		for i, t := range terms {
			digits := []byte(t)
			slices.Reverse(digits)
			terms[i] = string(digits)
		}
	}
	return terms
}
