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

// Buckets returns a filter for each bucket except search.Patient, which contains all other hits. Each hit is in exactly
// one bucket, which Reason returns. The result is nil if all hits belong to search.Patient. old is set if the index has
// the older schema.
func (p *Plan) Buckets(old bool) []Filter {
	groups := p.groups()
	var filters []Filter
	for _, b := range search.Buckets() {
		if b == search.Patient { // contains all other hits
			continue
		}
		if q, ok := decide(groups, b); ok {
			filters = append(filters, Filter{b, q.placedIn(layout{old: old})})
		}
	}
	return filters
}

// decide returns the query for the hits of bucket b. A hit belongs to the bucket of the first group that finds it. ok
// is false if no group has this bucket.
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

// leading returns the queries of the first groups for which kind returns true, and the remaining groups.
func leading(groups []group, kind func(group) bool) ([]Query, []group) {
	n := slices.IndexFunc(groups, func(g group) bool { return !kind(g) })
	if n < 0 {
		n = len(groups)
	}
	size := 1 // with capacity for the query of later groups
	for _, g := range groups[:n] {
		size += len(g.found)
	}
	found := make([]Query, 0, size)
	for _, g := range groups[:n] {
		found = append(found, g.found...)
	}
	return found, groups[n:]
}
