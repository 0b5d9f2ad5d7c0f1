package elastic

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// compiler makes plans of texts.
type compiler struct {
	codes []string // country codes
}

// searched is how many fields the key of all has.
var searched = len(search.Fields())

// first plans a search without typing errors.
func (c compiler) first(typed string, fields []search.Field, effort search.Effort) plan {
	t := parse(typed)
	p := plan{whole: len(fields) == searched, clauses: make([]clause, 0, usualClauses)}
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
		p.add(tierMixed, c.everyWord(t, fields, asTyped))
	}
	return p
}

// usualClauses is how many most texts have; a slice that grows is copied.
const usualClauses = 48

// second plans what is done when the first search finds few: words of names may sound alike or have typing errors. It
// finds again what first does, where that is not empty. False when no word may.
func (c compiler) second(first plan, typed string, fields []search.Field, effort search.Effort, r reach) (plan, bool) {
	if effort != search.Full || !slices.Contains(fields, search.FullName) {
		return plan{}, false
	}
	t := parse(userindex.Latin(userindex.Describe(typed).Name))
	p := plan{clauses: slices.Clone(first.clauses), byWord: slices.Clone(first.byWord), whole: len(fields) == searched}
	if slices.ContainsFunc(t.words, mayBeWrong) {
		if !strings.ContainsFunc(typed, isNoName) { // a mere name
			fields = []search.Field{search.FullName}
		}
		if words := c.everyWord(t, fields, r); len(words) > 0 {
			p.add(tierTypo, words)
			return p, true
		}
	}
	heard, ok := bySound(t)
	if ok = ok && !strings.ContainsRune(typed, '@'); ok {
		p.clauses = append(p.clauses,
			clause{tier: tierSound, field: search.FullName, found: heard, nearer: alike(search.FullName, t.words)})
	}
	return p, ok
}

// third plans what is done when nobody at all was found: long words of names may have two errors. False when none is
// long enough.
func (c compiler) third(typed string, fields []search.Field, effort search.Effort) (plan, bool) {
	words := parse(userindex.Latin(userindex.Describe(typed).Name)).words
	long := func(w string) bool { return mayBeWrong(w) && utf8.RuneCountInString(w) >= minTwo }
	if !slices.ContainsFunc(words, long) {
		return plan{}, false
	}
	return c.second(plan{}, typed, fields, effort, far)
}
