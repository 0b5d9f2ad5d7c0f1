package elastic

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// grouping says which fields that are compared alike are compared as one: the index holds their values in one field as
// well.
type grouping uint8

const (
	byField grouping = iota
	byFamily
	byFamilyAndForm // the forms of identifiers as well, which an index of the older schema has by field alone
)

// merge makes as few queries of ways as find the same with the same scores, one for each score.
func merge(ways []way, g grouping) []query {
	var merged []way
	for _, w := range ways {
		i := slices.IndexFunc(merged, func(m way) bool { return m.score == w.score })
		if i < 0 {
			i = len(merged)
			merged = append(merged, way{score: w.score, found: query{kind: anyOf}})
		}
		merged[i].found.take(w.found, g)
	}
	queries := make([]query, len(merged))
	for i, m := range merged {
		queries[i] = scored(either(m.found.of...), m.score)
	}
	return queries
}

// way is a query and what its hits score.
type way struct {
	found query
	score float64
}

// take adds what other finds to the alternatives of q, each once.
func (q *query) take(other query, g grouping) {
	if other.kind == anyOf {
		for _, of := range other.of {
			q.take(of, g)
		}
		return
	}
	if g != byField {
		other = other.inFamily(g)
	}
	for i := range q.of {
		one := &q.of[i]
		switch {
		case one.kind == equals && other.kind == equals && one.field == other.field:
			one.texts = union(one.texts, other.texts)
			return
		case one.same(&other):
			return
		}
	}
	q.of = append(q.of, other)
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// same tells whether two queries ask the same.
func (q *query) same(other *query) bool {
	if q.kind != other.kind || q.field != other.field || q.score != other.score || !slices.Equal(q.texts, other.texts) {
		return false
	}
	alike := func(a, b query) bool { return a.same(&b) }
	return slices.EqualFunc(q.of, other.of, alike) && slices.EqualFunc(q.more, other.more, alike)
}

// inFamily asks the field in which the index holds the values of all that are compared like the query's own.
func (q *query) inFamily(g grouping) query {
	to := *q
	to.asked, to.of, to.more = nil, families(q.of, g), families(q.more, g)
	if q.field == userindex.Identifiers && g == byFamilyAndForm {
		to.field, to.texts = userindex.Compacted, nil
		for _, text := range q.texts {
			_, form, _ := strings.Cut(text, ":")
			to.texts = union(to.texts, []string{form})
		}
		return to
	}
	base, part, _ := strings.Cut(q.field, ".")
	switch f := search.Field(base); {
	case f.Bucket() == "" || f.Kind() == search.Name || f.Kind() == search.Day:
		return to
	case f.Kind() == search.Phone:
		base = userindex.Phones
	case part == "segment":
		base, part = userindex.Segments, ""
	case q.kind == begins && utf8.RuneCountInString(q.texts[0]) > userindex.MaxForm: // the index cuts beginnings
		return to
	case q.kind == begins:
		to.kind, base, part = allWords, userindex.Whole, "prefix"
	default:
		base = userindex.Whole
	}
	if to.field = base; part != "" {
		to.field += "." + part
	}
	return to
}

func families(queries []query, g grouping) []query {
	var all []query
	for i := range queries {
		q := queries[i].inFamily(g)
		if !slices.ContainsFunc(all, func(other query) bool { return q.same(&other) }) {
			all = append(all, q)
		}
	}
	return all
}
