// Package elastic provides access to Elasticsearch: the versioned indexes and their aliases, bulk writes and their
// results, and scans of an index.
//
// Aliases: searches read and the pipeline writes "user_details"; during a rebuild the pipeline also writes
// "user_details_next". The indexes are named user_details_v1, user_details_v2, …; the aliases determine which one is
// live.
package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
)

// Config holds the settings of the index; embed it with envPrefix "INDEX_".
type Config struct {
	// Alias is the name used by searches, and the prefix of the index names.
	Alias    string `env:"ALIAS" envDefault:"user_details"`
	Shards   int    `env:"SHARDS" envDefault:"5"`
	Replicas int    `env:"REPLICAS" envDefault:"1"`
	// RefreshInterval is the maximum delay until searches see a write.
	RefreshInterval time.Duration `env:"REFRESH_INTERVAL" envDefault:"100ms"`
}

// Validate rejects settings with which no index can be created.
func (c *Config) Validate() error {
	if c.Alias == "" || c.Shards < 1 || c.Replicas < 0 || c.RefreshInterval < time.Millisecond {
		return errors.New(
			"INDEX_ALIAS must not be empty, INDEX_SHARDS at least 1, INDEX_REPLICAS at least 0, INDEX_REFRESH_INTERVAL at least 1ms")
	}
	return nil
}

func (c *Config) settings() document.Settings {
	return document.Settings{Shards: c.Shards, Replicas: c.Replicas, RefreshInterval: c.RefreshInterval}
}

// Store is the search index of one platform. It is safe for concurrent use.
type Store struct {
	client *elastic.Client
	cfg    Config
}

var _ indexsync.Index = (*Store)(nil)

// New returns a Store that uses client, which the caller closes.
func New(client *elastic.Client, cfg Config) *Store { return &Store{client: client, cfg: cfg} }

// Live returns the alias that searches read and the pipeline writes.
func (s *Store) Live() string { return s.cfg.Alias }

// Next returns the alias of the index that a rebuild fills.
func (s *Store) Next() string { return s.cfg.Alias + "_next" }

// givenUp returns the alias of indexes that were given up during a rebuild, because they lack changes.
func (s *Store) givenUp() string { return s.cfg.Alias + "_given_up" }

type object = map[string]any

// ask sends a request with body as JSON unless body is nil, and decodes the response. what names the action in errors.
// The error is a fault.
func (s *Store) ask(ctx context.Context, what string, call elastic.Call, body, answer any) error {
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		call.Body = text
	}
	return fault(what, s.client.Do(ctx, call, answer))
}
