package ranking

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Duplicates returns the plan that finds possible duplicates of a person. Patients with the same birth date and the
// same telephone number are found whatever their name, because people marry and names are written in many ways.
// Patients for whom only one of the two is equal are found if half of the name matches; initials and joined names count
// as matches.
func (c Compiler) Duplicates(q search.Query) Plan {
	var p Plan
	names := userindex.Written(q.Identity.Name)
	birth, number := sameBirth(q), c.sameNumber(q)
	same := slices.Concat(birth, number)
	if len(names) == 0 || len(same) == 0 || !slices.Contains(q.Fields, search.FullName) {
		return p
	}
	all, half := alikeNames(names)
	spelled := nearer{match(string(search.FullName), q.Identity.Name), 0.2} // a full match implies a half match
	p.agreeing, p.names = same, names
	if len(birth) > 0 && len(number) > 0 {
		p.clauses = append(p.clauses, clause{tier: tierWhole, field: search.DateOfBirth,
			found:  every(anyOfThem(birth), anyOfThem(number)),
			nearer: []nearer{{all, 0.4}, {half, halfNamed}, spelled}})
	}
	p.clauses = append(p.clauses,
		clause{tier: tierName, field: search.FullName, found: every(all, anyOfThem(same)), nearer: []nearer{spelled}},
		clause{tier: tierMixed, field: search.FullName, found: every(half, anyOfThem(same))})
	return p
}

// halfNamed is the score that a match of half the name adds to a hit with equal birth date and telephone number. Every
// other match of names adds at least as much.
const halfNamed = 0.3

// sameness is a field that may be equal in two registrations of a person, with the query for patients with an equal
// value.
type sameness struct {
	field search.Field
	found Query
}

func anyOfThem(same []sameness) Query {
	var all []Query
	for _, s := range same {
		all = append(all, s.found)
	}
	return either(all...)
}

func sameBirth(q search.Query) []sameness {
	if len(q.Identity.Births) == 0 || !slices.Contains(q.Fields, search.DateOfBirth) {
		return nil
	}
	return []sameness{{search.DateOfBirth, equal(string(search.DateOfBirth), q.Identity.Births)}}
}

func (c Compiler) sameNumber(q search.Query) []sameness {
	var all []sameness
	for _, f := range q.Fields {
		if f.Kind() != search.Phone || len(q.Identity.Phones) == 0 {
			continue
		}
		var numbers []Query
		for _, number := range q.Identity.Phones {
			t := parse(number)
			t.coded = true
			numbers = append(numbers, c.phones(t, f)[0].found) // the first clause is the closest one
		}
		all = append(all, sameness{f, either(numbers...)})
	}
	return all
}

// alikeNames returns queries for names with all of the words, and with half of them. A word matches as spelled, by
// sound, with a typing error, as an initial, or joined with another word.
func alikeNames(names []string) (all, half Query) {
	pieces := make([]word, len(names))
	for i, name := range names {
		pieces[i] = namePiece(name, false)
	}
	withInitials(pieces, names)
	joined := joinedWays(userindex.Words(strings.Join(names, " ")))
	return either(atLeast(len(names), pieces), joined), either(atLeast((len(names)+1)/2, pieces), joined)
}
