package elastic

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// combined sends both plans in one request and returns the same hits as two requests would. The score of a hit shows
// which plan found it, and hits of the first plan come first. If the first plan has enough hits, those of the second
// are dropped. If the page has only hits of the first plan and there are more hits, another request counts those of the
// first plan. If the engine rejects the request or does not respond within half of the time, the first plan is sent
// alone, and its hits are a partial result.
//
// Two searches in one request (_msearch) were measured with 60,000 patients: they cost the engine 1.4 times as much,
// because the hits of the first plan are searched twice, once to exclude them.
func (s *Store) combined(ctx context.Context, first, second ranking.Plan, l *look) (search.Result, error) {
	both := first.With(&second)
	found, err := s.askInHalf(ctx, &both, l)
	if tooMuch(ctx, &found, err) {
		return s.inPart(ctx, &first, l, err)
	}
	if err != nil {
		return search.Result{}, s.fault(ctx, err)
	}
	closer := 0 // number of hits of the first plan
	result, err := found.result(func(score float64) *ranking.Plan {
		if ranking.IsGuess(score) {
			return &second
		}
		closer++
		return &first
	})
	if err != nil {
		return result, err
	}
	if result.Total == 0 {
		result, err = s.furthest(ctx, l, search.Full, result)
		result.ByBucket = withRest(nil, result.Total)
		return result, err
	}
	return s.split(ctx, &first, l, result, closer)
}

// askInHalf sends a plan and waits for at most half of the remaining time.
func (s *Store) askInHalf(ctx context.Context, p *ranking.Plan, l *look) (answer, error) {
	deadline, _ := ctx.Deadline() // set by searchBy
	half, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	return s.ask(half, l, func(l *look) []byte { return body(p, l, engineTime(half)) })
}

// tooMuch reports whether the engine failed because of the size of the request, and there is still time for a smaller
// one.
func tooMuch(ctx context.Context, found *answer, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	return errors.Is(err, context.DeadlineExceeded) || found.TimedOut && len(found.Hits.Hits) == 0 ||
		elastic.IsStatus(err, http.StatusBadRequest) || elastic.IsStatus(err, http.StatusInternalServerError)
}

// inPart returns the hits of a plan as a partial result. If there are none, another plan might have found some, so
// cause or a timeout is returned as an error.
func (s *Store) inPart(ctx context.Context, p *ranking.Plan, l *look, cause error) (search.Result, error) {
	result, err := s.run(ctx, p, l)
	switch {
	case err != nil || len(result.Hits) > 0:
		result.Partial = err == nil
		return result, err
	case cause == nil || errors.Is(cause, context.DeadlineExceeded):
		return search.Result{}, errTimeout.WithCause(cause)
	}
	return search.Result{}, s.fault(ctx, cause)
}

// split drops the hits of the second plan if the first has enough, and counts hits by bucket.
func (s *Store) split(
	ctx context.Context, first *ranking.Plan, l *look, r search.Result, closer int,
) (search.Result, error) {
	if closer == len(r.Hits) && r.Total > int64(closer) && !r.Partial {
		return s.countFirst(ctx, first, l, r)
	}
	if closer >= enough {
		r.Hits, r.Total, r.AtLeast = r.Hits[:closer], int64(closer), false
	}
	r.ByBucket = withRest(counted(r.Hits[:closer]), r.Total)
	return r, nil
}

// countFirst counts the hits of the first plan if the page contains only those. If this fails, the result is partial.
func (s *Store) countFirst(ctx context.Context, first *ranking.Plan, l *look, r search.Result) (search.Result, error) {
	found, err := s.counts(ctx, first, l, r.Hits)
	if err != nil {
		if err = s.fault(ctx, err); errors.Is(err, errCanceled) {
			return search.Result{}, err
		}
		r.ByBucket, r.Partial = withRest(nil, r.Total), true
		return r, nil
	}
	if found.Hits.Total.Value >= enough {
		r.Total, r.AtLeast = found.Hits.Total.Value, found.Hits.Total.Relation == "gte"
	}
	r.ByBucket = withRest(found.buckets(), r.Total)
	return r, nil
}
