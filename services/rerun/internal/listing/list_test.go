package listing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

var at = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func TestAListingShowsValuesPresentOnesAndWhatIsAwaited(t *testing.T) {
	t.Parallel()
	b := storetest.NewBench(t)
	documents := b.Documents
	list := listing.New(b.Reports, documents)
	b.Change(7001, func(r *memory.Row) {
		r.Flag = rerun.Requested
		r.Results = []rerun.Result{{Index: 1, Value: "13.1"}, {ProfileTestID: 301, Index: 8, Value: "5"},
			{ProfileTestID: 302, Index: 8, Value: "6"}}
	})
	b.Change(7002, func(r *memory.Row) { r.Results = []rerun.Result{{Index: 3, Value: "9"}} })
	if err := documents.Insert(t.Context(), storetest.Record("r", 7001, rerun.Manual, 1,
		true)); err != nil { // asks for 3 and 1
		t.Fatal(err)
	}
	if err := documents.InsertValues(t.Context(),
		[]rerun.Value{{ID: "v", LabID: 12, ReportID: 7001, Index: 3, Number: 1, Value: "4.2", CreatedAt: at}}); err != nil {
		t.Fatal(err)
	}

	got, err := list.List(t.Context(), storetest.Scope(t, 12), storetest.Report)
	if err != nil || len(got.Values) != 1 || len(got.Open) != 1 || got.Flag != rerun.Requested {
		t.Fatalf("%+v %v", got, err)
	}
	if diff := cmp.Diff([]int{1}, got.Open[0].Pending); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(map[int]string{1: "13.1"}, got.Present); diff != "" { // index 8 belongs to two tests
		t.Fatal(diff)
	}
	if _, err := list.List(t.Context(), storetest.Scope(t, 13), storetest.Report); apperr.KindOf(err) != apperr.NotFound {
		t.Fatalf("another laboratory: %v", err)
	}
	if err := documents.InsertValues(t.Context(),
		[]rerun.Value{{ID: "w", LabID: 12, ReportID: 7001, Index: 1, Number: 1, Value: "13", CreatedAt: at}}); err != nil {
		t.Fatal(err)
	}
	if got, err = list.List(t.Context(), storetest.Scope(t, 12), storetest.Report); err != nil || len(got.Open) != 0 ||
		len(got.Values) != 2 {
		t.Fatalf("a request with all its values awaits nothing: %+v %v", got, err)
	}
	b.Change(7001, func(r *memory.Row) { r.Flag = rerun.Normal })
	if got, err = list.List(t.Context(), storetest.Scope(t, 12), storetest.Report); err != nil ||
		len(got.Open)+len(got.Values) != 0 {
		t.Fatalf("a closed report awaits nothing: %+v %v", got.Open, err)
	}
	if got, err = list.List(t.Context(), storetest.Scope(t, 12), storetest.OtherReport); err != nil ||
		len(got.Values) != 0 || len(got.Open) != 0 {
		t.Fatalf("%+v %v", got, err)
	}
}
