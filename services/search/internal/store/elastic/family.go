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
	merged := make([]query, 0, min(len(ways), int(tiers)))
	for _, w := range ways {
		at := slices.IndexFunc(merged, func(m query) bool { return m.score == w.score })
		if at < 0 {
			at = len(merged)
			merged = append(merged, query{kind: anyOf, score: w.score})
		}
		merged[at].take(w.found, g)
	}
	for i := range merged {
		merged[i] = scored(either(merged[i].of...), merged[i].score)
	}
	return merged
}

// way is a query and what its hits score.
type way struct {
	found *query
	score float64
}

// take adds what other finds to the alternatives of q, each once.
func (q *query) take(other *query, g grouping) {
	if other.kind == anyOf {
		for i := range other.of {
			q.take(&other.of[i], g)
		}
		return
	}
	added := *other
	if g != byField {
		added = other.inFamily(g)
	}
	for i := range q.of {
		one := &q.of[i]
		switch {
		case one.kind == equals && added.kind == equals && one.field == added.field:
			one.texts = union(one.texts, added.texts)
			return
		case one.same(&added):
			return
		}
	}
	q.of = append(q.of, added)
}

func union(a, b []string) []string {
	all := slices.Clip(a) // an addition copies it
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// same tells whether two queries ask the same.
func (q *query) same(other *query) bool {
	return q.kind == other.kind && q.field == other.field && q.score == other.score &&
		slices.Equal(q.texts, other.texts) && allSame(q.of, other.of) && allSame(q.more, other.more)
}

func allSame(a, b []query) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].same(&b[i]) {
			return false
		}
	}
	return true
}

// inFamily asks the field in which the index holds the values of all that are compared like the query's own.
func (q *query) inFamily(g grouping) query {
	to := *q
	to.asked, to.of, to.more = nil, families(q.of, g), families(q.more, g)
	if q.field == userindex.Identifiers && g == byFamilyAndForm {
		to.field, to.texts = userindex.Compacted, make([]string, len(q.texts))
		for i, text := range q.texts {
			_, to.texts[i], _ = strings.Cut(text, ":")
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
	if len(queries) == 0 {
		return nil
	}
	all := make([]query, 0, len(queries))
	for i := range queries {
		q := queries[i].inFamily(g)
		if !slices.ContainsFunc(all, func(other query) bool { return q.same(&other) }) {
			all = append(all, q)
		}
	}
	return all
}
