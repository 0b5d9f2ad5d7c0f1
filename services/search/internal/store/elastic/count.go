package elastic

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// count returns how many of all that a search found each bucket holds. Hits that are all on the page are counted there.
// The engine is asked otherwise, which costs as much as the search, only when some of them may be of an identifier: the
// text holds a digit, or the page shows such a hit. Else all are patients'.
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

// counts asks the engine how many p finds, and how many of them each bucket holds when hits may be of identifiers.
func (s *Store) counts(ctx context.Context, p *ranking.Plan, l *look, hits []search.Hit) (answer, error) {
	identified := mayBeIdentified(l.page.Text, hits)
	return s.ask(ctx, l, func(l *look) []byte { return counting(p, l, engineTime(ctx), identified) })
}

func mayBeIdentified(text string, hits []search.Hit) bool {
	return strings.ContainsFunc(text, unicode.IsDigit) ||
		slices.ContainsFunc(hits, func(h search.Hit) bool { return h.Bucket != search.Patient })
}

// buckets returns the counts of an answer.
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
