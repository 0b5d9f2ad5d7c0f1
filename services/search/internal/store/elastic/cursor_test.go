package elastic_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// TestPagesByCursorHaveNeitherGapsNorDoubles checks that pages by cursor are consistent while patients are registered,
// with and without recency.
func TestPagesByCursorHaveNeitherGapsNorDoubles(t *testing.T) {
	t.Parallel()
	i := open(t)
	var all rows
	for n := range int64(57) {
		all = append(all, indextest.Row{UserID: 1000 - n, LabID: 7, FullName: []string{"Rahul Sharma", "Rahul Sharmaji", "Raahool Sarma"}[n%3], LastBillTime: ptr(now.UnixMilli() - n*1e9)})
	}
	all = append(all, indextest.Row{UserID: 2000, LabID: 7, FullName: "Venkatesh Iyer"}, indextest.Row{UserID: 2001, LabID: 7, FullName: "Venkatesh Ayyar"},
		indextest.Row{UserID: 2002, LabID: 7, FullName: "Wenkatesh Iyar"})
	i.Put(all...)
	recent := i.with(func(c *elastic.Config) { c.RecencyEnabled = true })
	for text, want := range map[string]int{"rahul sharma": 38, "rhaul sahrma": 19, "venkatesh iyer": 3} {
		for name, store := range map[string]*elastic.Store{"plain": i.store, "by recency": recent} {
			whole, err := store.Search(t.Context(), lab(t, 7), query(t, text, search.All), search.Full)
			if err != nil || len(whole.Hits) != want || whole.Next != "" {
				t.Fatalf("%q %s: %d hits, next %q, error %v", text, name, len(whole.Hits), whole.Next, err)
			}
			var paged []int64
			cursor := ""
			for pages := 0; pages == 0 || cursor != ""; pages++ {
				r, err := store.Search(t.Context(), lab(t, 7), sized(t, text, 2, cursor), search.Full)
				if err != nil || r.Total != int64(want) || pages > want {
					t.Fatalf("%q %s, page %d: %d hits of %d, error %v", text, name, pages, r.Total, want, err)
				}
				paged, cursor = slices.Concat(paged, ids(r)), r.Next
			}
			if diff := cmp.Diff(ids(whole), paged); diff != "" {
				t.Errorf("%q %s: got %s, want none", text, name, diff)
			}
		}
	}
	first, err := i.store.Search(t.Context(), lab(t, 7), sized(t, "rahul sharma", 10, ""), search.Full)
	if err != nil {
		t.Fatal(err)
	}
	i.Put(indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul Sharma"}) // now ranks first
	second, err := i.store.Search(t.Context(), lab(t, 7), sized(t, "rahul sharma", 10, first.Next), search.Full)
	if err != nil || slices.ContainsFunc(ids(second), func(id int64) bool { return slices.Contains(ids(first), id) }) {
		t.Errorf("the page behind %v is %v, error %v", ids(first), ids(second), err)
	}
}

func sized(t *testing.T, text string, size int, cursor string) search.Query {
	t.Helper()
	q, err := search.NewQuery(search.Request{Query: text, Size: &size, Cursor: cursor}, 10)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
