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
		if q, ok := decide(groups, b); ok && b != search.Patient {
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
	var mine, others []query
	for len(groups) > 0 && groups[0].bucket == b {
		mine, groups = append(mine, groups[0].found...), groups[1:]
	}
	for len(groups) > 0 && groups[0].bucket != b {
		others, groups = append(others, groups[0].found...), groups[1:]
	}
	if later, ok := decide(groups, b); ok {
		mine = append(mine, query{kind: except, of: []query{later}, more: others})
	}
	return either(mine...), true
}
