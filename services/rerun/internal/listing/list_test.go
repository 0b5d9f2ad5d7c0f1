package listing_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
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

// scanned is a small document store: it reads everything, which takes a second, whatever it is asked for.
type scanned struct {
	storetest.Documents

	scans atomic.Int64
}

func (s *scanned) ValuesOfReports(ctx context.Context, scope authn.LabScope, ids []int64) ([]rerun.Value, error) {
	s.scans.Add(1)
	defer time.Sleep(time.Second)
	return s.Documents.ValuesOfReports(ctx, scope, ids)
}

func TestReadersOfManyReportsShareTheirQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := storetest.NewBench(t)
		documents := &scanned{Documents: b.Documents}
		list := listing.New(b.Reports, documents)
		foreign := func(id string, report int64) {
			if err := documents.InsertValues(t.Context(), []rerun.Value{{ID: id, LabID: 12, ReportID: report, Index: 1,
				Number: 1, Value: id, CreatedAt: at, Foreign: true}}); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		read := func(report int64, want string) {
			all.Go(func() {
				l, err := list.List(t.Context(), storetest.Scope(t, 12), report)
				if err != nil || len(l.Values) != 1 || l.Values[0].Value != want {
					t.Errorf("report %d: %+v, %v", report, l.Values, err)
				}
			})
			synctest.Wait()
		}
		foreign("a", 7001)
		read(7001, "a")
		foreign("b", 7002) // the scan under way may have passed it
		for range 25 {
			read(7002, "b")
			read(7001, "a")
		}
		all.Wait()
		if n := documents.scans.Load(); n != 2 {
			t.Errorf("%d scans", n)
		}
	})
}
