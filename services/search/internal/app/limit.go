package app

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/services/search/internal/limit"
	modes "github.com/labplatform/labplatform/services/search/internal/store/redis"
)

// openLimit creates the rate limit. Searches are counted in the Redis of the sessions. The mode (normal, degraded,
// emergency) may be in another Redis.
func (b *builder) openLimit() error {
	metrics := limit.NewMetrics(b.Registry)
	reader, err := b.modes()
	if err != nil {
		return err
	}
	watch := limit.NewWatch(limit.WatchDeps{
		Reader:  reader,
		Every:   b.cfg.Limit.Every(),
		Clock:   b.Clock,
		Log:     b.Log,
		Metrics: metrics,
	})
	b.Loop("rate limit mode", watch.Run)
	counter := limit.NewCounter(ratelimit.New(b.cache, limit.KeyPrefix), metrics, b.Log, b.Clock)
	b.limit = limit.New(limit.Deps{Config: b.cfg.Limit, Counter: counter, Watch: watch, Metrics: metrics})
	return nil
}

// modes returns the reader of the mode; nil if no cache is configured for it.
func (b *builder) modes() (limit.Reader, error) {
	client, err := b.cfg.openModes()
	if err != nil || client == nil {
		return nil, err
	}
	b.Close("cache of the rate limit's mode", func(context.Context) error { return client.Close() })
	return modes.NewModes(client), nil
}

// openModes opens the client of the cache that holds the mode. It returns nil if none is configured.
func (c *Config) openModes() (redis.UniversalClient, error) {
	if !c.Limit.KVURL.IsSet() {
		return nil, nil // without a cache, the mode is always normal
	}
	client, err := redisdb.OpenURL(c.Limit.KVURL)
	if err != nil {
		return nil, fmt.Errorf("open cache of the rate limit's mode: %w", err)
	}
	return client, nil
}
