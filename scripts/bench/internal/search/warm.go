package search

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
)

const (
	settleLimit = 2 * time.Minute
	settleEvery = 200 * time.Millisecond
)

// settle waits until the engine's merges are over.
func (b *bench) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	begin := time.Now()
	for {
		var stats struct {
			All struct {
				Total struct {
					Merges   struct{ Current int }
					Segments struct{ Count int }
				}
			} `json:"_all"`
		}
		if err := b.client.Do(
			ctx,
			elastic.Call{Name: "indices.stats", Request: esapi.IndicesStatsRequest{
				Index: []string{"user_details"}, Metric: []string{"merge", "segments"}}},
			&stats,
		); err != nil {
			return fmt.Errorf("wait for merges: %w", err)
		}
		if stats.All.Total.Merges.Current == 0 {
			b.report.Progress(
				"merges are over after %.1f s: %d segments",
				time.Since(begin).Seconds(),
				stats.All.Total.Segments.Count,
			)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for merges: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

const (
	stable   = 0.05 // maximum relative difference between the rates of two successive windows
	warmSeed = 1000
)

// warm runs the three searches at full load, in turn, until none gets faster.
func (b *bench) warm(ctx context.Context) error {
	begin := time.Now()
	last := map[*side]int64{}
	for n, rests := 0, false; n < b.sizes.windows && !rests; n++ {
		rests = n+1 >= b.sizes.least
		for _, s := range []*side{b.ours, b.plain, b.peer} {
			done, err := closed(ctx, b.mix.draw(warmSeed+uint64(n), lap), b.sizes.window, s.ask)
			if err != nil {
				return err
			}
			rests = rests && math.Abs(float64(done-last[s])) <= stable*float64(last[s])
			last[s] = done
		}
	}
	b.report.Progress("warm after %.1f s", time.Since(begin).Seconds())
	return nil
}
