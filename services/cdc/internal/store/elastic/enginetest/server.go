// Package enginetest provides stores on a real Elasticsearch to tests, each with its own index names.
package enginetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/pkg/testkit/elastictest"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/document/documenttest"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
)

// Server is a store on the real engine.
type Server struct {
	*elastic.Store
	Alias string
	t     testing.TB
	url   string
}

// Open returns a store without an index. Indexes created later are deleted at the end of the test.
func Open(t testing.TB) *Server {
	t.Helper()
	url, prefix := elastictest.New(t)
	s := &Server{t: t, url: url, Alias: prefix + "user_details"}
	client, err := engine.Open(engine.Config{URLs: []string{url}, MaxRetries: 3, RequestTimeout: 30, MaxConnections: 8},
		engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	s.Store = elastic.New(client, elastic.Config{Alias: s.Alias, Shards: 5, RefreshInterval: 200 * time.Millisecond})
	return s
}

// Ensured returns a store with its first index.
func Ensured(t testing.TB) *Server {
	t.Helper()
	s := Open(t)
	if _, err := s.EnsureIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// CreateOld creates a live index of the previous schema, as the previous version of the program does.
func (s *Server) CreateOld(suffix string) {
	s.t.Helper()
	aliases := map[string]bool{s.Alias: true, userindex.Reader(s.Alias, document.OldSchema): true}
	body := documenttest.OlderIndex(200*time.Millisecond, aliases)
	if status := s.Send(http.MethodPut, "/"+s.Alias+suffix, string(body), nil); status != http.StatusOK {
		s.t.Fatalf("create %s: %d", s.Alias+suffix, status)
	}
}

// URL returns the base address of the engine.
func (s *Server) URL() string { return s.url }

// Send sends a request, as an operator would, and returns the status. It decodes the response into out unless out is
// nil.
func (s *Server) Send(method, path string, body any, out any) int {
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

// Found refreshes the index and returns the ids of the documents that match query, in numeric order.
func (s *Server) Found(query any) []string {
	s.t.Helper()
	if err := s.Refresh(s.t.Context(), s.Alias); err != nil {
		s.t.Fatal(err)
	}
	var answer struct {
		Hits struct {
			Hits []struct {
				ID string `json:"_id"`
			}
		}
	}
	body := map[string]any{"query": query, "sort": []any{map[string]any{"user_id.number": "asc"}}, "size": 100}
	if status := s.Send(http.MethodPost, "/"+s.Alias+"/_search", body, &answer); status != http.StatusOK {
		s.t.Fatalf("search answers %d", status)
	}
	var ids []string
	for _, hit := range answer.Hits.Hits {
		ids = append(ids, hit.ID)
	}
	return ids
}
