// Package elastic owns how the pipeline speaks to Elasticsearch: the versioned indexes and their aliases, bulk writes
// and what their answers mean, and scans of what an index holds.
//
// Aliases: "user_details" is where searches read and the syncer writes; while a rebuild runs, "user_details_next" is
// written as well. Indexes are called user_details_v1, user_details_v2, …; nothing but the aliases says which is which.
package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
)

// Config are the values of the index; nest it with envPrefix "INDEX_".
type Config struct {
	// Alias is the name that searches use; those of the indexes begin with it.
	Alias    string `env:"ALIAS" envDefault:"user_details"`
	Shards   int    `env:"SHARDS" envDefault:"5"`
	Replicas int    `env:"REPLICAS" envDefault:"1"`
	// RefreshInterval is how long a write may stay invisible to searches.
	RefreshInterval time.Duration `env:"REFRESH_INTERVAL" envDefault:"100ms"`
}

// Validate refuses values with which no index can be made.
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

// Store is the search index of one platform. Safe for concurrent use.
type Store struct {
	client *elastic.Client
	cfg    Config
}

var _ indexsync.Index = (*Store)(nil)

// New returns a store on client, which stays the caller's to close.
func New(client *elastic.Client, cfg Config) *Store { return &Store{client: client, cfg: cfg} }

// Live returns the alias that searches read and the syncer writes.
func (s *Store) Live() string { return s.cfg.Alias }

// Next returns the alias of the index that a rebuild fills.
func (s *Store) Next() string { return s.cfg.Alias + "_next" }

// givenUp is the alias of indexes that a rebuild filled and that lack something.
func (s *Store) givenUp() string { return s.cfg.Alias + "_given_up" }

// object is a JSON object.
type object = map[string]any

// ask sends a request, with body as JSON where there is one, and decodes the answer. what is for people. The error is a
// fault.
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

// at is the path of what is done with target, an index or an alias.
func at(target, verb string) string { return "/" + url.PathEscape(target) + "/" + verb }
