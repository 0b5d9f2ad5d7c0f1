package elastic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// TestALaboratorySeesItsOwnPatientsAlone checks that searches find only patients of their laboratory. Laboratories 7
// and 8 share one of five shards.
func TestALaboratorySeesItsOwnPatientsAlone(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul Sharma", Contact: "9876543210", SampleIDs: []string{"S-1"}},
		indextest.Row{UserID: 2, LabID: 8, FullName: "Rahul Sharma", Contact: "9876543210", SampleIDs: []string{"S-1"}},
		indextest.Row{UserID: 3, LabID: 8, FormerLabIDs: []int64{7}, Rev: 5, FullName: "Rahul Sharma", Contact: "9876543210", SampleIDs: []string{"S-1"}},
		indextest.Row{UserID: 4, LabID: 7, IsDeleted: true, FullName: "Rahul Sharma", Contact: "9876543210", SampleIDs: []string{"S-1"}},
		indextest.Row{UserID: 5, LabID: 12, FormerLabIDs: []int64{7}, Rev: 5, FullName: "Rahul Sharma", Contact: "9876543210", SampleIDs: []string{"S-1"}},
	)
	for _, text := range []string{"rahul sharma", "9876543210", "3210", "S-1", "rahool", "rhaul", "rahul 98765", "sharm"} {
		for labID, want := range map[int64][]int64{7: {1}, 8: {2, 3}, 12: {5}, 9: nil} {
			if diff := cmp.Diff(want, ids(i.search(labID, text, search.All, search.Full))); diff != "" {
				t.Errorf("%q in laboratory %d: %s", text, labID, diff)
			}
		}
	}
	for _, number := range []string{"3", "5"} {
		if r := i.search(7, number, "patient_id", search.Full); r.Total != 0 {
			t.Errorf("laboratory 7 finds patient %s, who left", number)
		}
	}
}

func TestAPatientIsFoundByTheNumberThatThePlatformGave(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(indextest.Row{UserID: 501, LabID: 7, FullName: "A", LabPatientID: "P-501"}, indextest.Row{UserID: 5010, LabID: 7, FullName: "B"},
		indextest.Row{UserID: 15, LabID: 7, FullName: "C", LabPatientID: "501"})
	for text, want := range map[string][]int64{"501": {15, 501, 5010}, "5010": {5010}, "50": {15, 501, 5010}, "05010": nil, "p-501": {501}} {
		if diff := cmp.Diff(want, ids(i.search(7, text, "patient_id", search.Full))); diff != "" {
			t.Errorf("%q: got %s, want none", text, diff)
		}
	}
}

func TestAScopeOfABranchAnOrganizationOrACentreLimits(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul", BranchIDs: []int64{3, 4}, OrgIDs: []int64{45}},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Rahul", BranchIDs: []int64{4}, OrgIDs: []int64{45, 46}, CCIDs: []int64{9}},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Rahul", BranchID: ptr(int64(3))},
	)
	for name, c := range map[string]struct {
		limit func(*search.Scope)
		want  []int64
	}{
		"none":                     {func(*search.Scope) {}, []int64{1, 2, 3}},
		"a branch":                 {func(s *search.Scope) { s.BranchID = 3 }, []int64{1}},
		"an organization":          {func(s *search.Scope) { s.OrgID = 45 }, []int64{1, 2}},
		"a centre":                 {func(s *search.Scope) { s.CCID = 9 }, []int64{2}},
		"a branch and another org": {func(s *search.Scope) { s.BranchID, s.OrgID = 3, 46 }, nil},
		"an unknown branch":        {func(s *search.Scope) { s.BranchID = 99 }, nil},
	} {
		scope := lab(t, 7)
		c.limit(&scope)
		for _, text := range []string{"rahul", "rhaul"} {
			r, err := i.store.Search(t.Context(), scope, query(t, text, search.All), search.Full)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ids(r)); diff != "" {
				t.Errorf("got %s, %q: %s, want none", name, text, diff)
			}
		}
	}
}

func TestPagesHaveNeitherGapsNorDoubles(t *testing.T) {
	t.Parallel()
	i := open(t)
	var all rows
	for n := range int64(57) {
		all = append(all, indextest.Row{UserID: 1000 - n, LabID: 7, FullName: []string{"Rahul Sharma", "Rahul Sharmaji", "Raahool Sarma"}[n%3], LastBillTime: ptr(now.UnixMilli() - n*1e9)})
	}
	i.Put(all...)
	recent := i.with(func(c *elastic.Config) { c.RecencyEnabled = true })
	for text, want := range map[string]int64{"rahul sharma": 38, "rahul": 38, "rhaul sahrma": 19} {
		for name, store := range map[string]*elastic.Store{"plain": i.store, "by recency": recent} {
			var paged []int64
			q := query(t, text, search.All)
			q.Size = 10
			for ; q.From < 70; q.From += 10 {
				r, err := store.Search(t.Context(), lab(t, 7), q, search.Full)
				if err != nil || r.Total != want {
					t.Fatalf("%q %s from %d: %d hits of %d, error %v", text, name, q.From, r.Total, want, err)
				}
				paged = append(paged, ids(r)...)
			}
			r, err := store.Search(t.Context(), lab(t, 7), query(t, text, search.All), search.Full)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ids(r), paged); diff != "" || int64(len(paged)) != want {
				t.Errorf("%q %s: %s", text, name, diff)
			}
		}
	}
}

func TestATotalAboveTheCountIsALowerBound(t *testing.T) {
	t.Parallel()
	i := open(t)
	var all rows
	for n := range int64(10_100) {
		all = append(all, indextest.Row{UserID: n + 1, LabID: 7, FullName: "Rahul"})
	}
	i.Put(all...)
	q := query(t, "rahul", "name")
	q.Size, q.From = 10, 9990
	r, err := i.store.Search(t.Context(), lab(t, 7), q, search.Full)
	if err != nil || r.Total != 10_000 || !r.AtLeast || len(r.Hits) != 10 || r.Hits[9].UserID != 10_000 {
		t.Fatalf("total %d, at least %v, hits %v, error %v", r.Total, r.AtLeast, ids(r), err)
	}
}

func TestAHitSaysWhoWhyAndInWhichBucket(t *testing.T) {
	t.Parallel()
	i := open(t)
	i.Put(
		indextest.Row{UserID: 1, LabID: 7, FullName: "Rahul Sharma", Contact: "9001", Email: "9001@x.in"},
		indextest.Row{UserID: 2, LabID: 7, FullName: "Amit", BillIDs: []int64{9001}, LabReportIDs: []int64{9001}, SampleIDs: []string{"9001-2"}},
		indextest.Row{UserID: 3, LabID: 7, FullName: "Zoya", OrderNumbers: []string{"ORD-9001"}, SampleIDs: []string{"9001"}},
		indextest.Row{UserID: 4, LabID: 7, FullName: "Zoya", LrfIDs: []string{"90012"}, OrderNumbers: []string{"A-9001"}},
	)
	r := i.search(7, "9001", search.All, search.Full)
	type found struct {
		ID      int64
		Bucket  search.Bucket
		Matched []search.Field
	}
	shape := func(r search.Result) []found {
		var all []found
		for _, h := range r.Hits {
			all = append(all, found{h.UserID, h.Bucket, h.Matched})
		}
		return all
	}
	want := []found{
		{2, "bill", []search.Field{"bill_ids", "lab_report_ids"}},
		{3, "sample", []search.Field{"sample_ids"}},
		{1, "patient", []search.Field{"contact"}},
		{4, "order", []search.Field{"order_numbers", "lrf_ids"}},
	}
	if diff := cmp.Diff(want, shape(r)); diff != "" {
		t.Error(diff)
	}
	wantCounts := map[search.Bucket]int64{"patient": 1, "bill": 1, "order": 1, "report": 0, "sample": 1}
	if diff := cmp.Diff(wantCounts, r.ByBucket); diff != "" {
		t.Error(diff)
	}
	wantMixed := []found{{3, "patient", []search.Field{"full_name", "order_numbers", "sample_ids"}}, {4, "patient", []search.Field{"full_name", "order_numbers", "lrf_ids"}}}
	if diff := cmp.Diff(wantMixed, shape(i.search(7, "zoya 9001", search.All, search.Full))); diff != "" {
		t.Error(diff)
	}
	wantIDs := []found{{3, "order", []search.Field{"order_numbers", "sample_ids"}}}
	if diff := cmp.Diff(wantIDs, shape(i.search(7, "ORD-9001 9001", search.All, search.Full))[:1]); diff != "" {
		t.Error(diff)
	}
}

func TestADocumentComesBackAsAPersonWithWhatItsCardShowsOfItsLists(t *testing.T) {
	t.Parallel()
	i := open(t)
	row := indextest.Row{UserID: 501, LabID: 12, LabPatientID: "P-1", FullName: "Rahul", Contact: "+91 98765-43210", AlternateContact: "022-1", Email: "r@x.in", Gender: "Male",
		DateOfBirth: "1990-02-11", Age: "36 Y", PassportNo: "K1", NationalIdentityNumber: "N1", BranchID: ptr(int64(3)), OrgID: ptr(int64(45)), OrderNumbers: []string{"o-1"},
		BillIDs: []int64{1, 2}, LabBillIDs: []int64{301}, ManualSampleIDs: []string{"m1"}, LrfIDs: []string{"l1"}, LastBillTime: ptr(int64(1_790_000_000_000)), UpdatedAt: 1_790_000_100_000}
	for n := range int64(5_000) {
		row.LabReportIDs = append(row.LabReportIDs, 7_000_000+n)
	}
	i.Put(row)
	r := i.search(12, "501", search.All, search.Full)
	if len(r.Hits) != 1 {
		t.Fatalf("%d hits", len(r.Hits))
	}
	want := search.Person{UserID: 501, LabID: 12, LabPatientID: "P-1", FullName: "Rahul", Contact: "919876543210", AlternateContact: "0221", Email: "r@x.in", Gender: "Male",
		DateOfBirth: "1990-02-11", Age: "36 Y", PassportNo: "K1", NationalIdentityNumber: "N1", BranchID: ptr(int64(3)), OrgID: ptr(int64(45)), OrderNumbers: []string{"O-1"},
		BillIDs: []int64{1, 2}, LabBillIDs: []int64{301}, LabReportIDs: row.LabReportIDs[4900:], ManualSampleIDs: []string{"m1"}, LrfIDs: []string{"l1"},
		LastBillTime: ptr(int64(1_790_000_000_000)), UpdatedAt: 1_790_000_100_000}
	want.ManualSampleIDs[0] = "M1"
	if diff := cmp.Diff(want, r.Hits[0].Person); diff != "" {
		t.Error(diff)
	}
}

// TestAnOldBillOfALongAccountIsFoundAsABill: a counter's account has thousands of bills, and a card has only the newest
// hundred. The oldest bill must be found too, in bucket Bill.
func TestAnOldBillOfALongAccountIsFoundAsABill(t *testing.T) {
	t.Parallel()
	i := open(t)
	row := indextest.Row{UserID: 1, LabID: 7, FullName: "Counter Cash", Contact: "9876543210", LabPatientID: "C-1"}
	for n := range int64(3000) {
		row.BillIDs, row.LabReportIDs = append(row.BillIDs, 910_000+n), append(row.LabReportIDs, 7_000_000+n)
	}
	i.Put(row)
	for text, field := range map[string]search.Field{"910000": search.BillIDs, "912999": search.BillIDs, "7000000": search.LabReportIDs} {
		r := i.search(7, text, search.Key(field.Bucket()), search.Full)
		if len(r.Hits) != 1 || r.Hits[0].Matched[0] != field || r.Hits[0].Bucket != field.Bucket() {
			t.Errorf("%s: %+v", text, r.Hits)
		}
		if all := i.search(7, text, search.All, search.Full); len(all.Hits) != 1 {
			t.Errorf("%s among all fields: %+v", text, all.Hits)
		}
	}
}
