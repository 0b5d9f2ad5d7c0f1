package elastic_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

func TestAnIndexThatIsKnownToBeDownIsNotAsked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var back atomic.Bool
	web := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if back.Load() {
			answers(200, oneHit)(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	})
	client, err := engine.Open(engine.Config{URLs: []string{web}, RequestTimeout: 30, MaxConnections: 4}, engine.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	watch := &stopwatch{}
	store := elastic.New(client, settings(), watch)
	one := func() error {
		_, err := store.Search(t.Context(), lab(t, 7), query(t, "9001", "bill"), search.Full)
		return err
	}
	for range 20 {
		if err := one(); !apperr.Is(err, apperr.Unavailable) {
			t.Fatalf("error %v", err)
		}
	}
	if n := asked.Load(); n != 5 {
		t.Errorf("an engine that is down is asked %d times by 20 searches", n)
	}
	watch.passed.Add(int64(1100 * time.Millisecond))
	for range 3 {
		_ = one()
	}
	if n := asked.Load(); n != 6 {
		t.Errorf("behind the rest %d searches try, not one", n-5)
	}
	back.Store(true)
	watch.passed.Add(int64(1100 * time.Millisecond))
	for range 3 {
		if err := one(); err != nil {
			t.Errorf("the engine is back: %v", err)
		}
	}
}

// TestAnEngineThatRefusesIsAskedOn checks that an engine that is overloaded or rejects searches does not trip the
// breaker.
func TestAnEngineThatRefusesIsAskedOn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answers(429, refusal("es_rejected_execution_exception"))(w, r)
	})
	for range 20 {
		_, _ = store.Search(t.Context(), lab(t, 7), query(t, "9001", "bill"), search.Full)
	}
	if n := asked.Load(); n != 20 {
		t.Errorf("%d of 20 searches are asked", n)
	}
}

// TestASearchDoesNotWaitForAnEngineThatReadinessCallsDown checks that searches are rejected at once after readiness
// probes have detected an engine that accepts requests but does not respond.
func TestASearchDoesNotWaitForAnEngineThatReadinessCallsDown(t *testing.T) {
	t.Parallel()
	var frozen atomic.Bool
	frozen.Store(true)
	store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if frozen.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not detect that the client disconnected
			<-r.Context().Done()
			return
		}
		answers(200, oneHit)(w, r)
	})
	probe := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_ = store.Ready(ctx)
	}
	probe()
	probe()
	if _, err := store.Search(t.Context(), lab(t, 7), query(t, "9001", "bill"), search.Full); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("a search of a frozen engine: %v", err)
	}
	frozen.Store(false)
	_ = store.Ready(t.Context())
	if r, err := store.Search(t.Context(), lab(t, 7), query(t, "9001", "bill"), search.Full); err != nil || len(r.Hits) != 1 {
		t.Errorf("behind it: %+v, error %v", r, err)
	}
}
