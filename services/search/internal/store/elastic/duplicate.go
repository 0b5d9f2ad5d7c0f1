package elastic

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// duplicates plans the search for who may be the person of a text: somebody whose name is alike, and whose birth date
// or telephone number is the same. Who agrees in both stands above who agrees in one, a name that is spelled so above
// one that sounds so.
func (c compiler) duplicates(q search.Query) plan {
	var p plan
	name, ok := likeName(q.Identity.Name)
	same := c.sameAs(q.Identity, q.Fields)
	if !ok || len(same) == 0 || !slices.Contains(q.Fields, search.FullName) {
		return p
	}
	spelled := match(string(search.FullName), q.Identity.Name)
	var any []query
	for _, s := range same {
		p.clauses = append(p.clauses, clause{tier: tierWhole, field: s.field, found: every(name, s.found),
			nearer: append(others(same, s.field), nearer{spelled, 0.2})})
		any = append(any, s.found)
	}
	p.clauses = append(p.clauses, clause{tier: tierSound, field: search.FullName, found: every(name, either(any...))})
	return p
}

// sameness is one thing in which two registrations of a person agree.
type sameness struct {
	field search.Field
	found query
}

func (c compiler) sameAs(person search.Identity, fields []search.Field) []sameness {
	var all []sameness
	for _, f := range fields {
		switch {
		case f.Kind() == search.Phone && person.Phone != "":
			for _, number := range c.phones(parse(person.Phone), f) {
				if number.tier == tierWhole {
					all = append(all, sameness{f, number.found})
				}
			}
		case f.Kind() == search.Day && person.Birth != "":
			all = append(all, sameness{f, term(string(f), person.Birth)})
		}
	}
	return all
}

// others rank whoever agrees in something else as well.
func others(same []sameness, but search.Field) []nearer {
	var all []nearer
	for _, s := range same {
		if s.field != but {
			all = append(all, nearer{s.found, 0.3})
		}
	}
	return all
}

// likeName finds names whose words are those of the text, sound like them, or differ by a letter.
func likeName(typed string) (query, bool) {
	var all []query
	for _, word := range parse(userindex.Latin(userindex.Describe(typed).Name)).words {
		ways := []query{match(string(search.FullName), word)}
		if alike, heard := bySound(parse(word)); heard {
			ways = append(ways, alike)
		}
		if near, ok := misspelled(word); ok && mayBeWrong(word) {
			ways = append(ways, near)
		}
		all = append(all, either(ways...))
	}
	return every(all...), len(all) > 0
}
