package elastic_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

func TestLessEffortFindsLess(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul Sharma", Contact: "9876543210", Email: "rs@x.in", SampleIDs: []string{"LAB-77"}},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Raahool Sarma", Contact: "9876512345"},
	)
	for _, c := range []struct {
		text  string
		want  []int64
		under []int64 // expected ids with effort Reduced
		least []int64
	}{
		{"rahul sharma", []int64{1, 2}, []int64{1}, []int64{1}},
		{"raul", []int64{1}, nil, nil},
		{"sharma rah", []int64{1}, []int64{1}, []int64{1}},
		{"98765", []int64{1, 2}, []int64{1, 2}, []int64{1, 2}},
		{"3210", []int64{1}, []int64{1}, []int64{1}},
		{"lab-77", []int64{1}, []int64{1}, []int64{1}},
		{"lab", []int64{1}, []int64{1}, nil},
		{"77", []int64{1}, []int64{1}, nil},
		{"rs@", []int64{1}, []int64{1}, nil},
		{"rs@x.in", []int64{1}, []int64{1}, []int64{1}},
		{"rahul 3210", []int64{1}, []int64{1}, nil},
	} {
		for effort, want := range map[search.Effort][]int64{search.Full: c.want, search.Reduced: c.under, search.Least: c.least} {
			if diff := cmp.Diff(want, ids(i.search(7, c.text, search.All, effort))); diff != "" {
				t.Errorf("%q with effort %d: %s", c.text, effort, diff)
			}
		}
	}
}

func TestRecencyRanksWithinATierAndNeverAcross(t *testing.T) {
	t.Parallel()
	i := open(t)
	old := func(days int) *int64 { return ptr(now.Add(-time.Duration(days) * 24 * time.Hour).UnixMilli()) }
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul", LastBillTime: old(3000)},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Rahul", LastBillTime: old(1)},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Rahul"},
		indextest.Row{UserID: 4, LabID: 7, FullName: "Rahul", LastBillTime: old(60)},
		indextest.Row{UserID: 5, LabID: 7, FullName: "Rahul Sharma", LastBillTime: old(0)},
		indextest.Row{UserID: 6, LabID: 7, FullName: "Rahulan", LastBillTime: old(0)},
		indextest.Row{UserID: 7, LabID: 7, FullName: "Zoya", SampleIDs: []string{"RAHUL"}, LastBillTime: old(5000)},
		indextest.Row{UserID: 8, LabID: 7, FullName: "Raahool", LastBillTime: old(0)},
		indextest.Row{UserID: 9, LabID: 7, FullName: "Rahul", LastBillTime: old(98)},
		indextest.Row{UserID: 10, LabID: 7, FullName: "Rahul", LastBillTime: old(7)},
	)
	for _, weight := range []float64{1.5, 4} {
		store := i.with(func(c *elastic.Config) { c.RecencyEnabled, c.RecencyWeight = true, weight })
		got := map[search.Effort][]int64{}
		for _, effort := range []search.Effort{search.Full, search.Reduced} {
			r, err := store.Search(t.Context(), lab(t, 7), query(t, "rahul", search.All), effort)
			if err != nil {
				t.Fatal(err)
			}
			got[effort] = ids(r)
			if effort == search.Full && r.Hits[1].Score != 1e9*(1+weight) {
				t.Errorf("a bill of yesterday scores %v", r.Hits[1].Score)
			}
		}
		want := map[search.Effort][]int64{search.Full: {7, 2, 10, 4, 3, 9, 1, 5, 6, 8}, search.Reduced: {7, 1, 2, 3, 4, 9, 10, 5, 6}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("weight %v: %s", weight, diff)
		}
	}
}
