package elastic

import (
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// buckets returns what each bucket but that of patients holds: exclusively, and as hit decides for each hit. Nil when
// all hits are patients'.
func (p *plan) buckets() map[search.Bucket]query {
	groups := p.groups()
	filters := map[search.Bucket]query{}
	for _, b := range search.Buckets() {
		if b != search.Patient && slices.ContainsFunc(groups, func(g group) bool { return g.bucket == b }) {
			filters[b] = decide(groups, b)
		}
	}
	return filters
}

// decide finds what the first group that holds it puts into b.
func decide(groups []group, b search.Bucket) query {
	if !slices.ContainsFunc(groups, func(g group) bool { return g.bucket == b }) {
		return nil
	}
	var mine, others []query
	for len(groups) > 0 && groups[0].bucket == b {
		mine, groups = append(mine, groups[0].found...), groups[1:]
	}
	for len(groups) > 0 && groups[0].bucket != b {
		others, groups = append(others, groups[0].found...), groups[1:]
	}
	if later := decide(groups, b); later != nil {
		mine = append(mine, query{"bool": query{"must": []query{later}, "must_not": others}})
	}
	return anyOf(mine...)
}

// reason tells from the names of the queries that found a hit which fields they compared, and which bucket the hit
// belongs to: the one of the closest tier, among several the first of search.Buckets.
func reason(found []string) (search.Bucket, []search.Field) {
	bucket, rank := search.Patient, ranks
	matched := map[search.Field]bool{}
	for _, label := range found {
		t, field, ok := tierOf(label)
		if !ok || field == "" {
			continue
		}
		if matched[field] = matched[field] || (t != tierMixed && t != tierTypo) ||
			slices.Contains(found, t.String()); t.rank() > rank {
			continue
		}
		if b := field.Bucket(); t.rank() < rank || order(b) < order(bucket) {
			bucket, rank = b, t.rank()
		}
	}
	return bucket, slices.DeleteFunc(search.Fields(), func(f search.Field) bool { return !matched[f] })
}
