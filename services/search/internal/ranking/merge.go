package ranking

import (
	"slices"
)

// merge combines ways into as few queries as possible, one per score, that find the same patients with the same scores.
func merge(ways []way, l layout) []Query {
	merged := make([]Query, 0, min(len(ways), int(tiers)))
	for _, w := range ways {
		at := slices.IndexFunc(merged, func(m Query) bool { return m.Score == w.score })
		if at < 0 {
			at = len(merged)
			merged = append(merged, Query{Kind: AnyOf, Score: w.score})
		}
		merged[at].addAlternatives(w.found, l)
	}
	for i := range merged {
		merged[i] = scored(either(merged[i].Of...), merged[i].Score)
	}
	return merged
}

// way is a query and the score of its hits.
type way struct {
	found *Query
	score float64
}

// addAlternatives adds the alternatives of other to those of q without duplicates.
func (q *Query) addAlternatives(other *Query, l layout) {
	if other.Kind == AnyOf {
		for i := range other.Of {
			q.addAlternatives(&other.Of[i], l)
		}
		return
	}
	added := other.placedIn(l)
	for i := range q.Of {
		one := &q.Of[i]
		switch {
		case one.Kind == Equals && added.Kind == Equals && one.Field == added.Field:
			one.Texts = union(one.Texts, added.Texts)
			return
		case one.same(&added):
			return
		}
	}
	q.Of = append(q.Of, added)
}

func union(a, b []string) []string {
	all := slices.Clip(a) // makes append copy a
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// same reports whether two queries are equal.
func (q *Query) same(other *Query) bool {
	return q.Kind == other.Kind && q.Field == other.Field && q.Score == other.Score &&
		slices.Equal(q.Texts, other.Texts) && allSame(q.Of, other.Of) && allSame(q.More, other.More)
}

func allSame(a, b []Query) bool {
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
