package elastic

import (
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// compiler makes plans of texts.
type compiler struct {
	codes []string // country codes
}

// first plans a search without typing errors.
func (c compiler) first(typed string, fields []search.Field, effort search.Effort) plan {
	t := parse(typed)
	p := plan{byWord: tierMixed}
	for _, f := range fields {
		switch f.Kind() {
		case search.Name:
			p.clauses = append(p.clauses, names(t, f, effort)...)
		case search.Phone:
			p.clauses = append(p.clauses, c.phones(t, f)...)
		case search.Mail:
			p.clauses = append(p.clauses, mails(t, f, effort)...)
		case search.Identifier, search.Segmented:
			p.clauses = append(p.clauses, identifiers(t, f, effort)...)
		}
	}
	slices.SortStableFunc(p.clauses, func(a, b clause) int { return int(a.tier - b.tier) })
	if effort != search.Least {
		p.mixed = c.everyWord(t, fields, tierMixed, effort)
	}
	return p
}

// second plans what is done when the first search finds nothing, or sounds alone, all of which it finds again: words of names may sound alike or have typing errors. It is empty
// when no word may.
func (c compiler) second(typed string, fields []search.Field, effort search.Effort) plan {
	t := parse(typed)
	if effort != search.Full || !slices.Contains(fields, search.FullName) || !slices.ContainsFunc(t.words, mayBeWrong) {
		return plan{}
	}
	return plan{byWord: tierTypo, mixed: c.everyWord(t, fields, tierTypo, effort)}
}
