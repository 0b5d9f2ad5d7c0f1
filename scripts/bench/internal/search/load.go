package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// asked makes one search and checks its response. It returns false for a search that exceeded the service's deadline.
type asked func(context.Context, relevance.Judgement) (bool, error)

// atRate starts perSecond searches each second, whether or not earlier ones were answered, and returns the duration of
// each since it was due: a stall counts for every search behind it.
func atRate(ctx context.Context, searches []relevance.Judgement, perSecond int, ask asked) ([]time.Duration, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	taken := make([]time.Duration, len(searches))
	var all sync.WaitGroup
	start := time.Now()
	for i, s := range searches {
		due := start.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		time.Sleep(time.Until(due))
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			if _, err := ask(ctx, s); err != nil {
				stop(err)
			}
			taken[i] = time.Since(due)
		})
	}
	all.Wait()
	return taken, context.Cause(ctx)
}

// closed runs callers that repeat the searches for span, each starting the next one once the previous one is answered.
// It returns the number of answered searches.
func closed(ctx context.Context, searches []relevance.Judgement, span time.Duration, ask asked) (int64, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	var next, done atomic.Int64
	end := time.Now().Add(span)
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				answered, err := ask(ctx, searches[next.Add(1)%int64(len(searches))])
				if err != nil {
					stop(err)
					return
				}
				if answered && time.Now().Before(end) {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	return done.Load(), context.Cause(ctx)
}

// quantile returns a percentile in milliseconds.
func quantile(taken []time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(taken))
	return float64(sorted[min(len(sorted)-1, len(sorted)*percent/100)].Microseconds()) / 1000
}

// times holds the durations of searches by the kind of their text.
type times map[string][]time.Duration

func (t times) add(searches []relevance.Judgement, taken []time.Duration) {
	for i, s := range searches {
		t[s.Kind] = append(t[s.Kind], taken[i])
	}
}

// print prints the durations by kind, the slowest first.
func (t times) print(r *report.Report) {
	kinds := slices.SortedFunc(
		maps.Keys(t),
		func(a, b string) int { return cmp.Compare(quantile(t[b], 50), quantile(t[a], 50)) },
	)
	for _, kind := range kinds {
		r.Progress(
			"  %-24s %6d searches, p50 %8.2f ms, p99 %8.2f ms",
			kind,
			len(t[kind]),
			quantile(t[kind], 50),
			quantile(t[kind], 99),
		)
	}
}
