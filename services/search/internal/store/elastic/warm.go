package elastic

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// A search engine compiles code only after running it often, so the first searches after its start are several times
// slower than later ones.
const (
	warmTime     = 5 * time.Second
	warmSearches = 3000
	warmCallers  = 4
)

// warmTexts are examples of all kinds of texts that users type. Their hits are discarded.
var warmTexts = []string{
	"kumar", "rahul sharma", "sharma rahul", "mohammed yu", "sunita pa", "lak", "r k", "raul sharma", "muhamad",
	"venkatesh rao", "9876543210", "+91 98765 43210", "43210", "98765", "rahul 98765", "10001", "ord-2026-1", "S-1",
	"P-000501", "rahul@", "anil kumar singh", "priya w/o anil", "mob 9876543210", "sharma 1990",
	"jayalakshmi", "abdul rahman khan",
}

// Warm searches in the five largest laboratories, 3,000 times or until five seconds have passed.
func (s *Store) Warm(ctx context.Context) {
	end := s.clock.Now().Add(warmTime)
	labs := s.largest(ctx)
	if len(labs) == 0 {
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range warmCallers {
		all.Go(func() {
			for n := next.Add(1); n <= warmSearches && s.clock.Now().Before(end); n = next.Add(1) {
				s.warmOnce(ctx, labs[int(n)%len(labs)], warmTexts[int(n)%len(warmTexts)])
			}
		})
	}
	all.Wait()
}

func (s *Store) warmOnce(ctx context.Context, lab int64, text string) {
	scope, err := authn.Principal{Kind: authn.Service, Caller: "search"}.Scope(lab)
	if err != nil {
		return
	}
	q, err := search.NewQuery(search.Request{Query: text}, enough)
	if err != nil {
		return
	}
	_, _ = s.Search(ctx, search.Scope{Lab: scope}, q, search.Full) // the result is irrelevant
}

// largest returns the laboratories with the most patients, or none if the request fails.
func (s *Store) largest(ctx context.Context) (labs []int64) {
	var found struct {
		Aggregations struct {
			Labs struct {
				Buckets []struct {
					Key int64 `json:"key"`
				} `json:"buckets"`
			} `json:"labs"`
		} `json:"aggregations"`
	}
	const body = `{"size":0,"aggs":{"labs":{"terms":{"field":"lab_id","size":5}}}}`
	call := elastic.Call{Name: "search", Request: esapi.SearchRequest{Index: []string{s.cfg.Alias}}, Body: []byte(body), Repeat: true}
	if err := s.client.Do(ctx, call, &found); err != nil {
		return nil
	}
	for _, b := range found.Aggregations.Labs.Buckets {
		labs = append(labs, b.Key)
	}
	return labs
}
