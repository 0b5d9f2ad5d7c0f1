package elastic_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// now is the present time in tests.
var now = time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)

// index is a real index with a store that reads it.
type index struct {
	*indextest.Index
	t      testing.TB
	client *engine.Client
	store  *elastic.Store
}

func open(t testing.TB, change ...func(*elastic.Config)) *index {
	t.Helper()
	i := on(t, indextest.New(t))
	i.store = i.with(change...)
	return i
}

func on(t testing.TB, patients *indextest.Index) *index {
	t.Helper()
	i := &index{Index: patients, t: t}
	client, err := engine.Open(engine.Config{URLs: []string{i.URL()}, MaxRetries: 3, RequestTimeout: 30, MaxConnections: 8}, engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	i.client = client
	return i
}

// config returns the settings of a store over the index.
func (i *index) config() elastic.Config {
	cfg := settings()
	cfg.Alias = i.Alias()
	return cfg
}

// with returns another store over the same index.
func (i *index) with(change ...func(*elastic.Config)) *elastic.Store {
	i.t.Helper()
	cfg := i.config()
	for _, f := range change {
		f(&cfg)
	}
	return elastic.New(i.client, cfg, clock.Fixed(now))
}

func settings() elastic.Config {
	return elastic.Config{SearchTimeout: 30, RecencyScaleDays: 90, RecencyOffsetDays: 7, RecencyFactor: 0.5, RecencyWeight: 1.5, Alias: "user_details",
		PhoneCountryCodes: []string{"91", "0"}}
}

// lab returns the scope of a whole laboratory.
func lab(t testing.TB, id int64) search.Scope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(id)
	if err != nil {
		t.Fatal(err)
	}
	return search.Scope{Lab: scope}
}

func query(t testing.TB, text string, key search.Key) search.Query {
	t.Helper()
	q, err := search.NewQuery(search.Request{Query: text, Key: string(key)}, 100)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// search searches in a whole laboratory and checks the properties common to all results.
func (i *index) search(labID int64, text string, key search.Key, effort search.Effort) search.Result {
	i.t.Helper()
	r, err := i.store.Search(i.t.Context(), lab(i.t, labID), query(i.t, text, key), effort)
	if err != nil {
		i.t.Fatalf("%q: got error %v, want none", text, err)
	}
	consistent(i.t, text, labID, r)
	return r
}

// consistent checks a result whose page has all hits: only visible patients, descending scores, and bucket counts that
// match the hits.
func consistent(t testing.TB, text string, labID int64, r search.Result) {
	t.Helper()
	sum, counted := int64(0), map[search.Bucket]int64{}
	for n, h := range r.Hits {
		counted[h.Bucket]++
		if h.LabID != labID {
			t.Errorf("%q finds patient %d of laboratory %d", text, h.UserID, h.LabID)
		}
		if n > 0 && (h.Score > r.Hits[n-1].Score || h.Score == r.Hits[n-1].Score && h.UserID <= r.Hits[n-1].UserID) {
			t.Errorf("%q: hit %d is out of order", text, n)
		}
		if len(h.Matched) == 0 {
			t.Errorf("%q finds patient %d for no reason", text, h.UserID)
		}
	}
	for _, b := range search.Buckets() {
		sum += r.ByBucket[b]
		if len(r.Hits) == int(r.Total) && counted[b] != r.ByBucket[b] {
			t.Errorf("%q: %d hits in bucket %s, %d counted", text, counted[b], b, r.ByBucket[b])
		}
	}
	if sum != r.Total {
		t.Errorf("%q: buckets %v of %d hits", text, r.ByBucket, r.Total)
	}
}

func ids(r search.Result) []int64 {
	var all []int64
	for _, h := range r.Hits {
		all = append(all, h.UserID)
	}
	return all
}

func ptr[T any](v T) *T { return &v }
