package ranking

import (
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Filter is a bucket and the query that finds its hits.
type Filter struct {
	Bucket search.Bucket
	Found  Query
}

// Buckets returns what each bucket but that of patients holds: exclusively, and as Reason decides for each hit. Nil
// when all hits are patients'. old: the index is of the older schema.
func (p *Plan) Buckets(old bool) []Filter {
	groups := p.groups()
	var filters []Filter
	for _, b := range search.Buckets() {
		if b == search.Patient { // it holds the rest
			continue
		}
		if q, ok := decide(groups, b); ok {
			filters = append(filters, Filter{b, q.placedIn(layout{old: old})})
		}
	}
	return filters
}

// decide finds what the first group that holds it puts into b. False when no group does.
func decide(groups []group, b search.Bucket) (Query, bool) {
	if !slices.ContainsFunc(groups, func(g group) bool { return g.bucket == b }) {
		return Query{}, false
	}
	mine, groups := leading(groups, func(g group) bool { return g.bucket == b })
	others, groups := leading(groups, func(g group) bool { return g.bucket != b })
	if later, ok := decide(groups, b); ok {
		mine = append(mine, Query{Kind: Except, Of: []Query{later}, More: others})
	}
	return either(mine...), true
}

// leading returns what the first groups of a kind find, and the groups behind them.
func leading(groups []group, kind func(group) bool) ([]Query, []group) {
	n := slices.IndexFunc(groups, func(g group) bool { return !kind(g) })
	if n < 0 {
		n = len(groups)
	}
	size := 1 // and room for what is decided later
	for _, g := range groups[:n] {
		size += len(g.found)
	}
	found := make([]Query, 0, size)
	for _, g := range groups[:n] {
		found = append(found, g.found...)
	}
	return found, groups[n:]
}
