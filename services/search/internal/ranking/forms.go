package ranking

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// forms appends clauses for forms that differ from the typed text: names with joined or split words, names with titles,
// identifiers with other separators, and digits from the middle of a telephone number.
func forms(all []clause, t text, fields []search.Field) []clause {
	compact := compacts(t)
	for _, f := range fields {
		switch f.Kind() {
		case search.Name:
			all = append(all, joined(t, f)...)
			all = append(all, described(t, f)...)
		case search.Phone:
			if len(t.digits) >= minLast && len(t.digits) < maxLast {
				all = append(all, clause{tier: tierJoined, field: f, found: match(string(f)+".middle", t.digits)})
			}
		case search.Identifier, search.Segmented:
			all = append(all, compacted(compact, f)...)
		}
	}
	return all
}

// joined returns the clause for names whose words are split differently than in the text.
func joined(t text, f search.Field) []clause {
	words := userindex.Words(t.whole)
	if len(words) == 0 || len(words) > maxWords || strings.ContainsFunc(t.whole, isNoName) {
		return nil
	}
	return []clause{{tier: tierJoined, field: f, found: joinedWays(words)}}
}

func isNoName(r rune) bool { return unicode.IsDigit(r) || r == '@' }

func joinedWays(words []string) Query {
	var ways []Query
	for _, way := range userindex.Joins(words) {
		ways = append(ways, joinedWay(way, words))
	}
	return either(ways...)
}

// joinedWay returns a query for names with the words of way, a reading of words. A joined word longer than the indexed
// forms is compared with the words of the name, because many names of four words begin alike.
func joinedWay(way, words []string) Query {
	var short []string
	var all []Query
	for _, w := range way {
		if utf8.RuneCountInString(w) > userindex.MaxForm && !slices.Contains(words, w) {
			all = append(all, compare(Begins, string(search.FullName), w))
		} else {
			short = append(short, w)
		}
	}
	if len(short) > 0 {
		all = append(all, match(userindex.Joined, strings.Join(short, " ")))
	}
	return every(all...)
}

// described returns the clause for names in a text that also describes the person. The description only affects the
// ranking.
func described(t text, f search.Field) []clause {
	person := userindex.Describe(t.whole)
	words := userindex.Words(person.Name)
	if !person.HasDetails() || len(words) == 0 || len(words) > maxWords {
		return nil
	}
	c := clause{tier: tierPerson, field: f, found: joinedWays(words)}
	c.nearer = append(inOrder(f, words), nearerAsSaid(&person)...)
	return []clause{c}
}

func nearerAsSaid(p *userindex.Person) []nearer {
	var all []nearer
	if len(p.Titles) > 0 {
		var written []Query
		for _, title := range p.Titles {
			written = append(written, match(string(search.FullName), title))
		}
		all = append(all, nearer{either(written...), 0.2})
	}
	if p.Female != p.Male {
		sex := []string{"Female", "female", "FEMALE", "F"}
		if p.Male {
			sex = []string{"Male", "male", "MALE", "M"}
		}
		all = append(all, nearer{equal("gender", sex), 0.1})
	}
	if p.Age > 0 {
		all = append(all, nearer{equal("age", ages(p.Age)), 0.1})
	}
	return all
}

// ages returns the ways in which an age in years may be written.
func ages(years int) []string {
	return []string{fmt.Sprintf("%d Y", years), fmt.Sprintf("%dY", years), fmt.Sprint(years)}
}

const minCompact = 3

// compacts returns the text without separators of identifiers, or nil if the text cannot be an identifier.
func compacts(t text) []string {
	if !strings.ContainsFunc(t.whole, unicode.IsDigit) || strings.ContainsRune(t.whole, '@') {
		return nil
	}
	return slices.DeleteFunc(userindex.Compact(t.whole), func(form string) bool { return len(form) < minCompact })
}

// compacted returns the clause for identifiers that, without separators or by their last segment, equal one of forms.
func compacted(forms []string, f search.Field) []clause {
	if len(forms) == 0 || slices.Contains(numbered, f) {
		return nil
	}
	values := make([]string, len(forms))
	for i, form := range forms {
		values[i] = userindex.IdentifierForm(string(f), form)
	}
	return []clause{{tier: tierJoined, field: f, found: equal(userindex.Identifiers, values)}}
}

// Minimum lengths of a single word for which typing errors are allowed, because many short names differ only in one
// letter. Below minLone, one letter may be missing; from minLone on, two letters may also be swapped; from minLoneWrong
// on, any typing error is allowed.
const (
	minLone      = 5
	minLoneWrong = 7
)

// misspelled returns a query for names that have, for each word of piece, a word that differs by a typing error. alone
// is set if the text has no other piece. ok is false if a word is too short.
func misspelled(piece string, alone bool) (Query, bool) {
	var all []Query
	for _, w := range userindex.Words(piece) {
		deletions := userindex.Deletions(w)
		letters := utf8.RuneCountInString(w)
		switch {
		case deletions == nil:
			return Query{}, false
		case !alone || letters >= minLoneWrong:
			all = append(all, equal(userindex.Misspelled, deletions))
		case letters >= minLone:
			all = append(all, either(term(userindex.Misspelled, w),
				Query{Kind: Corrected, Field: string(search.FullName), Texts: swapped(w)}))
		default:
			all = append(all, term(userindex.Misspelled, w))
		}
	}
	return every(all...), len(all) > 0
}

// swapped returns all variants of a word with two neighbouring letters swapped.
func swapped(word string) []string {
	var all []string
	letters := []rune(word)
	for i := 1; i < len(letters); i++ {
		other := slices.Clone(letters)
		other[i-1], other[i] = other[i], other[i-1]
		all = append(all, string(other))
	}
	return all
}
