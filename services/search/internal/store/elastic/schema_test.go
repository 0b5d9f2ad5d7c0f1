package elastic_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// stopwatch is a clock that the test moves.
type stopwatch struct{ passed atomic.Int64 }

func (w *stopwatch) Now() time.Time { return now.Add(time.Duration(w.passed.Load())) }

// While a program of the present schema searches, the live index is of the one before, then of the present one, and after a rollback
// of the one before again. Nobody notices.
func TestASearchFindsTheSameInBothSchemasAndWhileTheyChange(t *testing.T) {
	t.Parallel()
	i := on(t, indextest.NewOld(t))
	all := crowd()
	i.Put(all...)
	texts := []string{"rahul", "rahul sharma", "9876543210", "98765", "3210", "s-1", "12", "ORD-12/3", "771", "rahul@x.in", "rahul@", "sharma 98765", "1234 5678", "kumari r2", "raul"}
	found := func(store *elastic.Store) map[string][]int64 {
		got := map[string][]int64{}
		for _, text := range texts {
			r, err := store.Search(t.Context(), lab(t, 7), query(t, text, search.All), search.Full)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			consistent(t, text, 7, r)
			got[text] = ids(r)
		}
		return got
	}
	watch := &stopwatch{}
	store := elastic.New(i.client, i.config(), watch)
	want := found(store)
	if len(want["98765"]) == 0 || len(want["s-1"]) == 0 || len(want["rahul sharma"]) == 0 {
		t.Fatalf("the older schema finds %v", want)
	}
	agree := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, found(store)); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	agree("remembering that the index is old")
	var searching sync.WaitGroup
	stop := make(chan struct{})
	searching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				agree("during the change")
				watch.passed.Add(int64(time.Second))
			}
		}
	})
	i.Rebuild(all...)
	agree("of the present schema")
	i.Rollback()
	close(stop)
	searching.Wait()
	watch.passed.Add(int64(time.Minute))
	agree("after the rollback")
}
