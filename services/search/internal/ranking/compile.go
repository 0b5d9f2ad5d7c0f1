package ranking

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Compiler compiles texts into plans.
type Compiler struct {
	Codes []string // telephone country codes, digits only
}

// searched is the number of fields searched with key All.
var searched = len(search.Fields())

// First returns the plan for a search without typing errors.
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

// usualClauses is the initial capacity for clauses. It suffices for most texts, so that the slice is rarely
// reallocated.
const usualClauses = 48

// Second returns the plan for a text whose first search found few patients: words of names may sound alike or have
// typing errors. It includes the clauses of first, which may be empty. ok is false if no word can be matched in this
// way.
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
		if !strings.ContainsFunc(typed, isNoName) { // the text is only a name
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

// Third returns the plan for a text that found no patient: long words of names may have two typing errors. ok is false
// if no word is long enough.
func (c Compiler) Third(typed string, fields []search.Field, effort search.Effort) (Plan, bool) {
	words := parse(userindex.Describe(typed).Name).words
	long := func(w string) bool { return mayBeWrong(w) && utf8.RuneCountInString(w) >= minTwo }
	if !slices.ContainsFunc(words, long) {
		return Plan{}, false
	}
	return c.like(Plan{}, typed, fields, effort, far)
}

// Limits used by IsSeldom.
const (
	minNames   = 2
	minLetters = 3 // letters per word
)

// IsSeldom reports whether a text is unlikely to have ten hits, so that a second search is probably needed: it has at
// least two words, none of them short.
func IsSeldom(typed string) bool {
	words := parse(typed).words
	short := func(w string) bool { return utf8.RuneCountInString(w) < minLetters }
	return len(words) >= minNames && !slices.ContainsFunc(words, short)
}
