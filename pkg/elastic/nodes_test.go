package elastic_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// member is a node that counts its requests; while it hangs, it does not respond.
type member struct {
	requests atomic.Int32
	hangs    atomic.Bool
}

func startMembers(t *testing.T, count int) ([]*member, *elastic.Client) {
	t.Helper()
	var all []*member
	cfg := elastic.Config{User: "elastic", MaxRetries: 2, RequestTimeout: 30, MaxConnections: 4}
	for range count {
		m := &member{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m.requests.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a canceled request only once the body is read
			if m.hangs.Load() {
				<-r.Context().Done()
				return
			}
			w.Header().Set("X-Elastic-Product", "Elasticsearch")
			_, _ = w.Write([]byte("{}"))
		}))
		t.Cleanup(server.Close)
		all, cfg.URLs = append(all, m), append(cfg.URLs, server.URL)
	}
	client, err := elastic.Open(cfg, elastic.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return all, client
}

var search = elastic.Call{Name: "search", Request: esapi.SearchRequest{Index: []string{"x"}}, Body: []byte(`{}`), Repeat: true, AttemptTimeout: 50 * time.Millisecond}

func TestRequestsGoToAllNodesInTurn(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 3)
	for range 9 {
		if err := client.Do(t.Context(), search, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range all {
		if m.requests.Load() != 3 {
			t.Errorf("node %d got %d requests of 9, want 3", i, m.requests.Load())
		}
	}
}

func TestHangingNodeIsSkipped(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 3)
	all[1].hangs.Store(true)
	for n := range 30 {
		if err := client.Do(t.Context(), search, nil); err != nil {
			t.Fatalf("search %d: %v", n, err)
		}
	}
	if got := all[1].requests.Load(); got != 1 {
		t.Errorf("hanging node got %d requests, want 1", got)
	}
}

func TestCanceledRequestDoesNotMarkTheNodeAsFailed(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 2)
	for _, m := range all {
		m.hangs.Store(true)
	}
	patient := search
	patient.AttemptTimeout = 0
	for range all {
		ctx, cancel := context.WithCancel(t.Context())
		before := all[0].requests.Load() + all[1].requests.Load()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = client.Do(ctx, patient, nil)
		}()
		await.True(t, "a running search", func() bool { return all[0].requests.Load()+all[1].requests.Load() > before })
		cancel()
		<-done
	}
	for _, m := range all {
		m.hangs.Store(false)
		m.requests.Store(0)
	}
	for range 4 {
		if err := client.Do(t.Context(), search, nil); err != nil {
			t.Fatal(err)
		}
	}
	if all[0].requests.Load() != 2 || all[1].requests.Load() != 2 {
		t.Errorf("requests = %d and %d, want 2 each", all[0].requests.Load(), all[1].requests.Load())
	}
}

func TestAllNodesAreTriedWhenAllHaveFailed(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 2)
	for _, m := range all {
		m.hangs.Store(true)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if err := client.Do(ctx, search, nil); err == nil {
		t.Fatal("Do = nil while all nodes hang, want an error")
	}
	for _, m := range all {
		m.hangs.Store(false)
	}
	if err := client.Do(t.Context(), search, nil); err != nil {
		t.Fatal(err)
	}
}

// While the whole cluster is slow, retries must be limited, and a search may use all of its time.
func TestSlowClusterGetsFewRetriesAndTheCallersWholeTime(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 3)
	for _, m := range all {
		m.hangs.Store(true)
	}
	durations := make(chan time.Duration, 20)
	var searches sync.WaitGroup
	for range cap(durations) {
		searches.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			if err := client.Do(ctx, search, nil); err == nil {
				t.Error("Do = nil while all nodes hang, want an error")
			}
			durations <- time.Since(begin)
		})
	}
	searches.Wait()
	close(durations)
	for took := range durations {
		if took < 900*time.Millisecond {
			t.Errorf("search ended after %v, want at least 900ms", took)
		}
	}
	if got := all[0].requests.Load() + all[1].requests.Load() + all[2].requests.Load(); got > 20+13 {
		t.Errorf("20 searches made %d requests, want at most 33", got)
	}
}
