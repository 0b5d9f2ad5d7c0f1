package elastic

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// count returns how many of all that a search found each bucket holds. Hits that are all on the page are counted there.
// The engine is asked otherwise, which costs as much as the search, only when some of them may be of an identifier: the
// text holds a digit, or the page shows such a hit. Else all are patients'.
func (s *Store) count(
	ctx context.Context,
	p *plan,
	l *look,
	r *search.Result,
) (map[search.Bucket]int64, error) {
	if r.Total == int64(len(r.Hits)) {
		return counted(r.Hits), nil
	}
	identified := slices.ContainsFunc(r.Hits, func(h search.Hit) bool { return h.Bucket != search.Patient })
	if !identified && !strings.ContainsFunc(l.page.Text, unicode.IsDigit) {
		return withRest(nil, r.Total), nil
	}
	buckets := p.buckets()
	if len(buckets) == 0 {
		return withRest(nil, r.Total), nil
	}
	found, err := s.ask(ctx, l, func(l *look) []byte { return p.counting(l, engineTime(ctx), buckets) })
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	others := map[search.Bucket]int64{}
	for b, in := range found.Aggregations.Buckets.Buckets {
		others[b] = in.Count
	}
	if len(others) == 0 {
		return withRest(nil, r.Total), nil
	}
	return withRest(others, others[search.Patient]+sum(others)), nil
}

func counted(hits []search.Hit) map[search.Bucket]int64 {
	found := map[search.Bucket]int64{}
	for _, h := range hits {
		found[h.Bucket]++
	}
	return withRest(found, int64(len(hits)))
}

// withRest lists every bucket, and counts as patients' what of the total is in no other one.
func withRest(found map[search.Bucket]int64, total int64) map[search.Bucket]int64 {
	all := map[search.Bucket]int64{search.Patient: total - sum(found)}
	for _, b := range search.Buckets() {
		if b != search.Patient {
			all[b] = found[b]
		}
	}
	return all
}

// sum counts the hits of all buckets but that of patients.
func sum(found map[search.Bucket]int64) int64 {
	total := int64(0)
	for b, n := range found {
		if b != search.Patient {
			total += n
		}
	}
	return total
}
