package elastic_test

import (
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// fataler is implemented by *testing.T and *rapid.T.
type fataler interface {
	Fatalf(format string, args ...any)
}

// TestOneRequestFindsWhatTwoFind checks that one request for both plans returns the same result as two consecutive
// requests, for any page size.
func TestOneRequestFindsWhatTwoFind(t *testing.T) {
	t.Parallel()
	i := open(t)
	all := append(crowd(), strange()...)
	for n := range int64(40) { // names with more than ten hits, exact ones and by sound
		all = append(all, indextest.Row{UserID: 7000 + n, LabID: 7, FullName: []string{"Mohammed Yusuf Khan", "Muhammad Yousuf Khan", "Yusuf Mohammed", "Khan Mohamad"}[n%4],
			Email: "yusuf@x.in", LastBillTime: ptr(now.UnixMilli() - n*1e9)})
	}
	i.Put(all...)
	change := func(c *elastic.Config) { c.RecencyEnabled = true }
	for name, store := range map[string]*elastic.Store{"plain": i.store, "by recency": i.with(change)} {
		agree := func(t fataler, text string, size int) {
			q, err := search.NewQuery(search.Request{Query: text}, size)
			if err != nil {
				return
			}
			atOnce, err := store.Search(i.t.Context(), lab(i.t, 7), q, search.Full)
			if err != nil {
				t.Fatalf("%q: got error %v, want none", text, err)
			}
			inTurn, err := store.SearchInTurn(i.t.Context(), lab(i.t, 7), q, search.Full)
			if err != nil {
				t.Fatalf("%q: got error %v, want none", text, err)
			}
			if diff := cmp.Diff(inTurn, atOnce, cmpopts.IgnoreFields(search.Result{}, "Took")); diff != "" {
				t.Fatalf("%s, %q by %d: %s", name, text, size, diff)
			}
		}
		for _, text := range []string{"mohammed yusuf", "mohammed khan", "muhamad yusuf", "yusuf moh", "rahul sharma", "rahool sharma", "kumari r2", "rahul 98765", "josé ângela", "yusuf@x.in khan", "raul sharmaa"} {
			for _, size := range []int{1, 5, 9, 10, 11, 20, 100} {
				agree(t, text, size)
			}
		}
		property.Check(t, func(rt *rapid.T) {
			agree(rt, texts(crowd()).Draw(rt, "text"), rapid.SampledFrom([]int{1, 3, 10, 12, 100}).Draw(rt, "size"))
		})
	}
}

func TestANameOfSeveralWordsIsAskedForAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		size    int
		answers []string
		total   int64
		asked   [][]string // words expected in each request; words after ! must be missing
	}{
		"few are found":         {"rahul sharma", 10, []string{oneOf(1, 1, 1e9)}, 1, [][]string{{`full_name.keyword`, `full_name_deletions`, `"size":10`}}},
		"only sounds are found": {"rahul sharma", 10, []string{oneOf(1, 1, 1)}, 1, [][]string{{`full_name_deletions`}}},
		"the page shows only who is meant, of many": {"rahul sharma", 1, []string{oneOf(50, 1, 1e9), oneOf(40, 1, 1)}, 40, [][]string{
			{`full_name_deletions`}, {`"size":0`, `full_name.keyword`, `!full_name_deletions`, `!aggs`}}},
		"or of few": {"rahul sharma", 1, []string{oneOf(50, 1, 1e9), oneOf(4, 1, 1)}, 50, [][]string{
			{`full_name_deletions`}, {`"size":0`}}},
		"no one is found":     {"rahul venkatesh", 10, []string{nobody, oneOf(1, 1, 1)}, 1, [][]string{{`full_name_deletions`}, {`"fuzziness":2`}}},
		"a short word":        {"rahul s", 10, []string{oneOf(20, 1, 1e9)}, 20, [][]string{{`!full_name_deletions`}}},
		"one word":            {"venkatesh", 10, []string{oneOf(20, 1, 1e9)}, 20, [][]string{{`!full_name_deletions`}}},
		"words of an address": {"rahul@x.in 98765", 10, []string{oneOf(20, 1, 1e9), oneOf(20, 1, 1e9)}, 20, [][]string{{`!full_name_deletions`}, {`"size":0`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, asked := answering(t, c.answers...)
			r, err := store.Search(t.Context(), lab(t, 7), sized(t, c.text, c.size, ""), search.Full)
			if err != nil || r.Total != c.total || r.ByBucket[search.Patient] != c.total || len(r.Hits) != 1 {
				t.Errorf("%d hits %v, buckets %v, error %v", r.Total, ids(r), r.ByBucket, err)
			}
			checkRequests(t, asked(), c.asked)
		})
	}
}

func TestWhenTheEngineRefusesBothPlansTheFirstOneIsAnAnswerInPart(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{400: 1, 500: 1, 503: 0} {
		var requests atomic.Int32
		store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				answers(status, refusal("too_many_clauses"))(w, r)
				return
			}
			answers(200, oneHit)(w, r)
		})
		r, err := store.Search(t.Context(), lab(t, 7), query(t, "rahul sharma", search.All), search.Full)
		if len(r.Hits) != want || r.Partial != (want > 0) || (err == nil) != (want > 0) {
			t.Errorf("%d: %+v, error %v", status, r, err)
		}
	}
}

func TestWhenBothPlansTakeTooLongTheFirstOneIsAnAnswerInPart(t *testing.T) {
	t.Parallel()
	for name, tooLong := range map[string]http.HandlerFunc{
		"the engine does not answer": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not detect that the client disconnected
			<-r.Context().Done()
		},
		"the engine gives up": answers(200, `{"timed_out":true,"hits":{"total":{"value":0,"relation":"eq"},"hits":[]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			find := func(asTyped string) (search.Result, error) {
				var requests atomic.Int32
				store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
					if requests.Add(1) == 1 {
						tooLong(w, r)
						return
					}
					answers(200, asTyped)(w, r)
				}, func(c *elastic.Config) { c.SearchTimeout = 1 })
				return store.Search(t.Context(), lab(t, 7), query(t, "rahul sharma", search.All), search.Full)
			}
			if r, err := find(oneHit); err != nil || len(r.Hits) != 1 || !r.Partial {
				t.Errorf("%+v, error %v", r, err)
			}
			if r, err := find(nobody); !apperr.Is(err, apperr.DeadlineExceeded) || r.Partial {
				t.Errorf("no one is found as typed: %+v, error %v", r, err)
			}
		})
	}
}

func TestACountThatFailsLeavesAnAnswerInPart(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	store := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			answers(200, oneOf(50, 1, 1e9))(w, r)
			return
		}
		answers(503, "")(w, r)
	})
	r, err := store.Search(t.Context(), lab(t, 7), sized(t, "rahul sharma", 1, ""), search.Full)
	if err != nil || !r.Partial || !slices.Equal(ids(r), []int64{1}) || r.ByBucket[search.Patient] != 50 {
		t.Errorf("%+v, error %v", r, err)
	}
}
