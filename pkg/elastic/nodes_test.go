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

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// member is a node that counts what it is asked, and answers nothing while it hangs.
type member struct {
	asked atomic.Int32
	hangs atomic.Bool
}

func startMembers(t *testing.T, count int) ([]*member, *elastic.Client) {
	t.Helper()
	var all []*member
	cfg := elastic.Config{User: "elastic", MaxRetries: 2, RequestTimeout: 30, MaxConnections: 4}
	for range count {
		m := &member{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m.asked.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // the server sees that a caller is gone once it has read everything
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

var search = elastic.Call{Name: "search", Method: http.MethodPost, Path: "/x", Body: []byte(`{}`), Repeat: true, Patience: 50 * time.Millisecond}

func TestEveryNodeIsAsked(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 3)
	for range 9 {
		if err := client.Do(t.Context(), search, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range all {
		if m.asked.Load() != 3 {
			t.Errorf("node %d was asked %d times of nine", i, m.asked.Load())
		}
	}
}

func TestANodeThatHangsIsPassedOver(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 3)
	all[1].hangs.Store(true)
	for n := range 30 {
		if err := client.Do(t.Context(), search, nil); err != nil {
			t.Fatalf("search %d: %v", n, err)
		}
	}
	if asked := all[1].asked.Load(); asked != 1 {
		t.Errorf("the node that hangs was asked %d times", asked)
	}
}

func TestWhatACallerGaveUpSaysNothingAboutTheNode(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 2)
	for _, m := range all {
		m.hangs.Store(true)
	}
	patient := search
	patient.Patience = 0
	for range all {
		ctx, cancel := context.WithCancel(t.Context())
		before := all[0].asked.Load() + all[1].asked.Load()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = client.Do(ctx, patient, nil)
		}()
		await.True(t, "a search under way", func() bool { return all[0].asked.Load()+all[1].asked.Load() > before })
		cancel()
		<-done
	}
	for _, m := range all {
		m.hangs.Store(false)
		m.asked.Store(0)
	}
	for range 4 {
		if err := client.Do(t.Context(), search, nil); err != nil {
			t.Fatal(err)
		}
	}
	if all[0].asked.Load() != 2 || all[1].asked.Load() != 2 {
		t.Errorf("asked %d and %d times", all[0].asked.Load(), all[1].asked.Load())
	}
}

func TestWithAllNodesSilentTheyAreAskedAllTheSame(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 2)
	for _, m := range all {
		m.hangs.Store(true)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if err := client.Do(ctx, search, nil); err == nil {
		t.Fatal("answered by no one")
	}
	for _, m := range all {
		m.hangs.Store(false)
	}
	if err := client.Do(t.Context(), search, nil); err != nil {
		t.Fatal(err)
	}
}

// A cluster that is slow everywhere is not asked again and again, and who waits for it has all the time that there is.
func TestASlowClusterIsGivenItsTime(t *testing.T) {
	t.Parallel()
	all, client := startMembers(t, 3)
	for _, m := range all {
		m.hangs.Store(true)
	}
	begun := make(chan time.Duration, 20)
	var searches sync.WaitGroup
	for range cap(begun) {
		searches.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			if err := client.Do(ctx, search, nil); err == nil {
				t.Error("answered by no one")
			}
			begun <- time.Since(begin)
		})
	}
	searches.Wait()
	close(begun)
	for took := range begun {
		if took < 900*time.Millisecond {
			t.Errorf("given up after %v of a second", took)
		}
	}
	if asked := all[0].asked.Load() + all[1].asked.Load() + all[2].asked.Load(); asked > 20+13 {
		t.Errorf("20 searches ask %d times", asked)
	}
}
