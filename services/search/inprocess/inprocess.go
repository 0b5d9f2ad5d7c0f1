// Package inprocess runs the patient search inside another program. Load generators use it to measure the search
// without the service process, or next to another search on the same index.
package inprocess

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/search/internal/search"
	elasticstore "github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// Searcher searches the index like the service, from the query text to the decoded hits.
type Searcher struct{ store *elasticstore.Store }

// Hit is one patient found by a search.
type Hit struct{ UserID, LabID int64 }

// New returns a searcher with the service's default settings. The caller closes client.
func New(client *elastic.Client) (*Searcher, error) {
	var cfg elasticstore.Config
	if err := config.Load("SEARCH_", &cfg, nil); err != nil {
		return nil, fmt.Errorf("default settings: %w", err)
	}
	return &Searcher{elasticstore.New(client, cfg, clock.System{})}, nil
}

// Warm warms up the engine as the service does before it is ready.
func (s *Searcher) Warm(ctx context.Context) { s.store.Warm(ctx) }

// Search returns the first size patients of the laboratory that match text in any field.
func (s *Searcher) Search(ctx context.Context, labID int64, text string, size int) ([]Hit, error) {
	scope, err := search.ScopeOf(authn.Principal{Kind: authn.Bearer, LabID: labID}, 0)
	if err != nil {
		return nil, err
	}
	q, err := search.NewQuery(search.Request{Query: text}, size)
	if err != nil {
		return nil, err
	}
	found, err := s.store.Search(ctx, scope, q, search.Full)
	hits := make([]Hit, len(found.Hits))
	for i, h := range found.Hits {
		hits[i] = Hit{h.UserID, h.LabID}
	}
	return hits, err
}

// Fields returns the index fields that a search uses.
func Fields() []string {
	var all []string
	for _, f := range search.Fields() {
		all = append(all, string(f))
	}
	return all
}
