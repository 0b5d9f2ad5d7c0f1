package elastic_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/testkit/elastictest"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
)

// server is a store on the real engine, with names of its own.
type server struct {
	*elastic.Store
	t     testing.TB
	url   string
	alias string
}

func open(t testing.TB) *server {
	t.Helper()
	url, prefix := elastictest.New(t)
	s := &server{t: t, url: url, alias: prefix + "user_details"}
	client, err := engine.Open(engine.Config{URL: url, MaxRetries: 3, RequestTimeout: 30, MaxConnections: 8}, engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	s.Store = elastic.New(client, elastic.Config{Alias: s.alias, Shards: 5, RefreshInterval: 200 * time.Millisecond})
	return s
}

// scripted is a store on a server that answers what the test says.
func scripted(t testing.TB, handler http.HandlerFunc) *elastic.Store {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(web.Close)
	client, err := engine.Open(engine.Config{URL: web.URL, RequestTimeout: 5, MaxConnections: 4}, engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return elastic.New(client, elastic.Config{Alias: "user_details", Shards: 5, RefreshInterval: time.Second})
}

// ensured is open with its first index.
func ensured(t testing.TB) *server {
	t.Helper()
	s := open(t)
	if _, err := s.EnsureIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// send makes a plain request, as an operator would, and decodes the answer into out unless that is nil.
func (s *server) send(method, path string, body any, out any) int {
	s.t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = bytes.NewBufferString(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, content)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			s.t.Fatalf("%s %s answers %d %s", method, path, response.StatusCode, answer)
		}
	}
	return response.StatusCode
}
