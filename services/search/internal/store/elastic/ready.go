package elastic

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/userindex"
)

// What the pipeline writes into the indexes that this program can search.
const (
	versionDomain = "user_meta.rev"
	schema        = userindex.Schema
	oldSchema     = userindex.OldSchema
)

// Ready asks whether the index is there and is one that this program can search. The error says what to do.
func (s *Store) Ready(ctx context.Context) error {
	var indexes map[string]struct {
		Mappings struct {
			Meta struct {
				Domain string `json:"version_domain"`
				Schema int    `json:"schema"`
			} `json:"_meta"`
		} `json:"mappings"`
	}
	err := s.client.Do(
		ctx,
		elastic.Call{
			Name:   "indices.get_mapping",
			Method: http.MethodGet,
			Path:   "/" + url.PathEscape(s.cfg.Alias) + "/_mapping",
			Repeat: true,
		},
		&indexes,
	)
	switch {
	case elastic.IsStatus(err, http.StatusNotFound), err == nil && len(indexes) == 0:
		return s.noIndex()
	case err != nil:
		return fmt.Errorf("look at the index: %w", err)
	}
	for name, index := range indexes {
		if meta := index.Mappings.Meta; meta.Domain != versionDomain || meta.Schema < oldSchema || meta.Schema > schema {
			return fmt.Errorf(
				"the index %s is of %q schema %d, searches need %q schema %d to %d: make a new one with `cdc rebuild`",
				name,
				meta.Domain,
				meta.Schema,
				versionDomain,
				oldSchema,
				schema,
			)
		}
	}
	return nil
}
