package elastic

import (
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// filter is what a bucket holds.
type filter struct {
	bucket search.Bucket
	found  query
}

// buckets returns what each bucket but that of patients holds: exclusively, and as reason decides for each hit. Nil
// when all hits are patients'.
func (p *plan) buckets() []filter {
	groups := p.groups()
	var filters []filter
	for _, b := range search.Buckets() {
		if b == search.Patient { // it holds the rest
			continue
		}
		if q, ok := decide(groups, b); ok {
			filters = append(filters, filter{b, q})
		}
	}
	return filters
}

// decide finds what the first group that holds it puts into b. False when no group does.
func decide(groups []group, b search.Bucket) (query, bool) {
	if !slices.ContainsFunc(groups, func(g group) bool { return g.bucket == b }) {
		return query{}, false
	}
	mine, groups := leading(groups, func(g group) bool { return g.bucket == b })
	others, groups := leading(groups, func(g group) bool { return g.bucket != b })
	if later, ok := decide(groups, b); ok {
		mine = append(mine, query{kind: except, of: []query{later}, more: others})
	}
	return either(mine...), true
}

// leading returns what the first groups of a kind find, and the groups behind them.
func leading(groups []group, kind func(group) bool) ([]query, []group) {
	n := slices.IndexFunc(groups, func(g group) bool { return !kind(g) })
	if n < 0 {
		n = len(groups)
	}
	size := 1 // and room for what is decided later
	for _, g := range groups[:n] {
		size += len(g.found)
	}
	found := make([]query, 0, size)
	for _, g := range groups[:n] {
		found = append(found, g.found...)
	}
	return found, groups[n:]
}
