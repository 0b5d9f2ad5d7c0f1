package search

import (
	"context"
	"fmt"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
)

const (
	coldSearches  = 500
	coldPerSecond = 50 // a few desks in the morning
	coldSeed      = 3000
	startLimit    = 2 * time.Minute
)

// cold measures the first searches on an engine that has just started; ours after the warm-up that precedes readiness
// in the service.
func (b *bench) cold(ctx context.Context) error {
	p50s, p99s, perSecond := series{}, series{}, coldPerSecond
	if b.report.Quick {
		perSecond *= 4
	}
	for _, s := range []*side{b.ours, b.plain} {
		if err := b.restart(ctx); err != nil {
			return err
		}
		if s == b.ours {
			begin := time.Now()
			b.searcher.Warm(ctx)
			b.report.Progress("the engine is warmed for %.1f s", time.Since(begin).Seconds())
		}
		taken, err := atRate(ctx, b.mix.draw(coldSeed, coldSearches), perSecond, s.ask)
		if err != nil {
			return err
		}
		p50, p99 := quantile(taken, 50), quantile(taken, 99)
		b.report.Progress("%-12s the first %d searches: p50 %.2f ms, p99 %.2f ms", s.name, coldSearches, p50, p99)
		p50s[s], p99s[s] = append(p50s[s], p50), append(p99s[s], p99)
	}
	b.report.Lower("cold_p50_ms", "ms", p50s[b.ours], plainName, p50s[b.plain])
	b.report.Lower("cold_p99_ms", "ms", p99s[b.ours], plainName, p99s[b.plain])
	return nil
}

// restart restarts the engine and waits until the index is available.
func (b *bench) restart(ctx context.Context) error {
	if err := b.sandbox.Stop("elasticsearch"); err != nil {
		return err
	}
	if err := b.sandbox.Start("elasticsearch", nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := b.client.Do(ctx, elastic.Call{Name: "cluster.health", Request: esapi.ClusterHealthRequest{
			Index: []string{"user_details"}, WaitForStatus: "yellow", Timeout: 30 * time.Second}}, nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the engine: %w", err)
		case <-time.After(settleEvery):
		}
	}
}
