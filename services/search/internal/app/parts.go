package app

import (
	"context"
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/search/internal/freshness"
	elasticstore "github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

func (b *builder) openIndex() error {
	client, err := b.cfg.openIndex(b.Tracers())
	if err != nil {
		return err
	}
	b.Close("search index", func(context.Context) error { return client.Close() })
	b.index = elasticstore.New(client, b.cfg.Index, b.Clock)
	return nil
}

func (b *builder) openFreshness() {
	b.fresh = freshness.New(freshness.Deps{Config: b.cfg.Freshness, Progress: b.tables, Clock: b.Clock, Log: b.Log})
	b.Loop("freshness", b.fresh.Run)
	b.fresh.Register(b.Registry)
}

// openIndex opens the client of the index. If tracers is nil, no spans are recorded.
func (c *Config) openIndex(tracers trace.TracerProvider) (*elastic.Client, error) {
	client, err := elastic.Open(c.ES,
		elastic.Deps{Tracers: tracers, CaptureSearches: c.CaptureSearchQuery, Roll: rand.Float64})
	if err != nil {
		return nil, fmt.Errorf("open search index: %w", err)
	}
	return client, nil
}
