package elastic

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// count returns how many of all hits belong to each bucket. If the page has all hits, it counts those. Otherwise the
// engine counts, which costs as much as the search, but only if some hits may be by identifier: the text has a digit,
// or the page has such a hit. Otherwise all hits belong to search.Patient.
func (s *Store) count(
	ctx context.Context, p *ranking.Plan, l *look, r *search.Result,
) (map[search.Bucket]int64, error) {
	if r.Total == int64(len(r.Hits)) {
		return counted(r.Hits), nil
	}
	if !mayBeIdentified(l.page.Text, r.Hits) {
		return withRest(nil, r.Total), nil
	}
	found, err := s.counts(ctx, p, l, r.Hits)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	others := found.buckets()
	if len(others) == 0 {
		return withRest(nil, r.Total), nil
	}
	return withRest(others, others[search.Patient]+sum(others)), nil
}

// counts requests the number of hits of p and, if some may be by identifier, their number per bucket.
func (s *Store) counts(ctx context.Context, p *ranking.Plan, l *look, hits []search.Hit) (answer, error) {
	identified := mayBeIdentified(l.page.Text, hits)
	return s.ask(ctx, l, func(l *look) []byte { return counting(p, l, engineTime(ctx), identified) })
}

func mayBeIdentified(text string, hits []search.Hit) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) ||
		slices.ContainsFunc(hits, func(h search.Hit) bool { return h.Bucket != search.Patient })
}

// buckets returns the counts in the response.
func (a *answer) buckets() map[search.Bucket]int64 {
	counts := map[search.Bucket]int64{}
	for b, in := range a.Aggregations.Buckets.Buckets {
		counts[b] = in.Count
	}
	return counts
}

func counted(hits []search.Hit) map[search.Bucket]int64 {
	found := map[search.Bucket]int64{}
	for _, h := range hits {
		found[h.Bucket]++
	}
	return withRest(found, int64(len(hits)))
}

// withRest returns a count for every bucket. The hits of total that are in no other bucket belong to search.Patient.
func withRest(found map[search.Bucket]int64, total int64) map[search.Bucket]int64 {
	all := map[search.Bucket]int64{search.Patient: total - sum(found)}
	for _, b := range search.Buckets() {
		if b != search.Patient {
			all[b] = found[b]
		}
	}
	return all
}

// sum counts the hits of all buckets except search.Patient.
func sum(found map[search.Bucket]int64) int64 {
	total := int64(0)
	for b, n := range found {
		if b != search.Patient {
			total += n
		}
	}
	return total
}
