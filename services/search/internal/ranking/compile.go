package ranking

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Compiler makes plans of texts.
type Compiler struct {
	Codes []string // country codes of telephone numbers
}

// searched is how many fields the key of all has.
var searched = len(search.Fields())

// First plans a search without typing errors.
func (c Compiler) First(typed string, fields []search.Field, effort search.Effort) Plan {
	t := parse(typed)
	p := Plan{
		whole: len(fields) == searched, clauses: make([]clause, 0, usualClauses), asked: userindex.Describe(typed),
	}
	for _, f := range fields {
		switch f.Kind() {
		case search.Name:
			p.clauses = append(p.clauses, names(t, f, effort)...)
		case search.Phone:
			p.clauses = append(p.clauses, c.phones(t, f)...)
		case search.Mail:
			p.clauses = mails(p.clauses, t, f, effort)
		case search.Identifier, search.Segmented:
			p.clauses = identifiers(p.clauses, t, f, effort)
		}
	}
	if effort == search.Full {
		p.clauses = forms(p.clauses, t, fields)
	}
	if effort != search.Least {
		p.add(tierMixed, c.wordClauses(t, fields, asTyped))
	}
	return p
}

// usualClauses is how many most texts have; a slice that grows is copied.
const usualClauses = 48

// Second plans what is done when the first search finds few: words of names may sound alike or have typing errors. It
// finds again what first does, where that is not empty. False when no word may.
func (c Compiler) Second(first Plan, typed string, fields []search.Field, effort search.Effort) (Plan, bool) {
	return c.like(first, typed, fields, effort, near)
}

func (c Compiler) like(first Plan, typed string, fields []search.Field, effort search.Effort, r reach) (Plan, bool) {
	if effort != search.Full || !slices.Contains(fields, search.FullName) {
		return Plan{}, false
	}
	t := parse(userindex.Describe(typed).Name)
	p := Plan{
		clauses: slices.Clone(first.clauses), byWord: slices.Clone(first.byWord), whole: len(fields) == searched,
		asked: first.asked,
	}
	if slices.ContainsFunc(t.words, mayBeWrong) {
		if !strings.ContainsFunc(typed, isNoName) { // a mere name
			fields = []search.Field{search.FullName}
		}
		if words := c.wordClauses(t, fields, r); len(words) > 0 {
			p.add(tierTypo, words)
			return p, true
		}
	}
	alikes, ok := bySound(t, len(t.words) == 1)
	if ok = ok && !strings.ContainsRune(typed, '@'); ok {
		p.clauses = append(p.clauses,
			clause{tier: tierSound, field: search.FullName, found: alikes, nearer: alike(search.FullName, t.words)})
	}
	return p, ok
}

// Third plans what is done when no one at all was found: long words of names may have two errors. False when none is
// long enough.
func (c Compiler) Third(typed string, fields []search.Field, effort search.Effort) (Plan, bool) {
	words := parse(userindex.Describe(typed).Name).words
	long := func(w string) bool { return mayBeWrong(w) && utf8.RuneCountInString(w) >= minTwo }
	if !slices.ContainsFunc(words, long) {
		return Plan{}, false
	}
	return c.like(Plan{}, typed, fields, effort, far)
}

// A name of several words that are long enough rarely has ten patients: its first search will not be the last.
const (
	minNames   = 2
	minLetters = 3 // of each word
)

// IsSeldom reports whether a text is hardly found ten times.
func IsSeldom(typed string) bool {
	words := parse(typed).words
	short := func(w string) bool { return utf8.RuneCountInString(w) < minLetters }
	return len(words) >= minNames && !slices.ContainsFunc(words, short)
}
