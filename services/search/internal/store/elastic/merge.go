package elastic

import (
	"slices"
)

// merge makes as few queries of ways as find the same with the same scores, one for each score.
func merge(ways []way, l layout) []query {
	merged := make([]query, 0, min(len(ways), int(tiers)))
	for _, w := range ways {
		at := slices.IndexFunc(merged, func(m query) bool { return m.score == w.score })
		if at < 0 {
			at = len(merged)
			merged = append(merged, query{kind: anyOf, score: w.score})
		}
		merged[at].take(w.found, l)
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
func (q *query) take(other *query, l layout) {
	if other.kind == anyOf {
		for i := range other.of {
			q.take(&other.of[i], l)
		}
		return
	}
	added := other.in(l)
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
