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

// stopwatch is a clock advanced by the test.
type stopwatch struct{ passed atomic.Int64 }

func (w *stopwatch) Now() time.Time { return now.Add(time.Duration(w.passed.Load())) }

// TestASearchFindsTheSameInBothSchemasAndWhileTheyChange searches while the live index changes from the previous schema
// to the present one and, by a rollback, back again. The results must not change.
func TestASearchFindsTheSameInBothSchemasAndWhileTheyChange(t *testing.T) {
	t.Parallel()
	i := on(t, indextest.NewOld(t))
	all := crowd()
	i.Put(all...)
	texts := map[string][]search.Key{
		"rahul": {search.All, "name"}, "rahul sharma": {search.All, "name"}, "raul": {search.All}, "kumari r2": {search.All}, "sharma 98765": {search.All}, "1234 5678": {search.All},
		"9876543210": {search.All, "contact"}, "98765": {search.All, "contact"}, "6543": {search.All, "contact"}, "3210": {search.All, "contact", "bill"},
		"s-1": {search.All, "sample"}, "S-": {"sample"}, "12": {search.All, "order", "report"}, "ORD-12/3": {search.All, "order"}, "or": {"order"}, "771": {search.All, "order", "sample"},
		"1": {"bill", "patient_id", "report"}, "rahul@x.in": {search.All, "email"}, "rahul@": {search.All, "email"},
	}
	found := func(store *elastic.Store) map[string][]int64 {
		got := map[string][]int64{}
		for text, keys := range texts {
			for _, key := range keys {
				r, err := store.Search(t.Context(), lab(t, 7), query(t, text, key), search.Full)
				if err != nil {
					t.Errorf("%q: got error %v, want none", text, err)
				}
				consistent(t, text, 7, r)
				got[string(key)+" "+text] = ids(r)
			}
		}
		return got
	}
	watch := &stopwatch{}
	store := elastic.New(i.client, i.config(), watch)
	want := found(store)
	for _, asked := range []string{"all 98765", "contact 6543", "all s-1", "sample S-", "order or", "bill 1", "all rahul sharma"} {
		if len(want[asked]) == 0 {
			t.Errorf("the older schema finds no one: %s", asked)
		}
	}
	agree := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, found(store)); diff != "" {
			t.Errorf("%s: got %s, want none", when, diff)
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
