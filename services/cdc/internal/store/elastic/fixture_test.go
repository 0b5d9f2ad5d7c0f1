package elastic_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
)

// scripted returns a store that uses the given handler as its server.
func scripted(t testing.TB, handler http.HandlerFunc) *elastic.Store {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(web.Close)
	client, err := engine.Open(engine.Config{URLs: []string{web.URL}, RequestTimeout: 5, MaxConnections: 4}, engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return elastic.New(client, elastic.Config{Alias: "user_details", Shards: 5, RefreshInterval: time.Second})
}
