package listing_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestAListingShowsEachValueBesideThatOfItsOwnTest(t *testing.T) {
	t.Parallel()
	f := storetest.New(t)
	f.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 8, Order: 9, Name: "Other"})
	for _, r := range []rerun.Result{{Index: 1, Value: "13.1"}, {ProfileTestID: 301, Index: 8, Value: "5"},
		{ProfileTestID: 302, Index: 8, Value: "6"}} {
		f.AddResult(storetest.Report, r)
	}
	list := func(report int64) listing.Listing {
		t.Helper()
		l, err := listing.New(f.Reports, f.Documents).List(t.Context(), storetest.Scope(t, 12), report)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := list(storetest.Report).AsOf
	if _, err := f.Ask(t, storetest.Report, 3, 8); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"ESR", "Other", ""} {
		m := storetest.Message(storetest.Report, []int{1, -1, -1}[i], "8="+[]string{"1", "2", "3"}[i])
		m.Readings[0].Name = name
		if _, err := f.Say(t, m); err != nil {
			t.Fatal(err)
		}
	}
	got := list(storetest.Report)
	if len(got.Open) != 1 || len(got.Open[0].Pending) != 1 || got.Open[0].Pending[0] != 3 || got.Flag != rerun.Fulfilled {
		t.Errorf("flag %d, requests %+v; want flag 4 and one that waits for 3", got.Flag, got.Open)
	}
	if !got.AsOf.After(before) {
		t.Errorf("as_of %v, want one after %v", got.AsOf, before)
	}
	for i, want := range []struct {
		test           int64
		name, original string
	}{{302, "Sedimentation", "6"}, {301, "Blood count", "5"}, {-1, "", "-"}} {
		v, test, original := got.Values[i], int64(-1), "-"
		if v.NamingTest != nil {
			test = *v.NamingTest
		}
		if v.Original != nil {
			original = *v.Original
		}
		if test != want.test || v.TestName != want.name || original != want.original {
			t.Errorf("value %d: test %d %q, original %s; want %+v", i, test, v.TestName, original, want)
		}
	}
	_, err := listing.New(f.Reports, f.Documents).List(t.Context(), storetest.Scope(t, 13), storetest.Report)
	if apperr.KindOf(err) != apperr.NotFound {
		t.Errorf("another laboratory: %v, want NotFound", err)
	}
	f.Set(storetest.Report, "sampleRedrawFlag", 0)
	if got := list(storetest.Report); len(got.Open)+len(got.Values) != 0 {
		t.Errorf("a closed report shows %+v, want nothing", got)
	}
	if got := list(storetest.OtherReport); len(got.Open)+len(got.Values) != 0 {
		t.Errorf("a report without a rerun shows %+v, want nothing", got)
	}
}

// small is a store that reads all of its values for each query, which takes a second.
type small struct {
	mu     sync.Mutex
	values []rerun.Value // guarded by mu
	scans  atomic.Int64
}

func (s *small) Read(context.Context, authn.LabScope, int64, rerun.Wants) (rerun.Facts, error) {
	return rerun.Facts{}, nil
}

func (s *small) OfReports(context.Context, authn.LabScope, []int64) ([]rerun.Record, error) {
	return nil, nil
}

func (s *small) ValuesOfReports(context.Context, authn.LabScope, []int64) ([]rerun.Value, error) {
	s.scans.Add(1)
	s.mu.Lock()
	found := append([]rerun.Value(nil), s.values...)
	s.mu.Unlock()
	time.Sleep(time.Second)
	return found, nil
}

func TestReadersOfManyReportsShareTheirQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &small{}
		list := listing.New(store, store)
		add := func(id string, report int64) {
			store.mu.Lock()
			defer store.mu.Unlock()
			store.values = append(store.values, rerun.Value{ReportID: report, Index: 1, Number: 1, Value: id, Foreign: true})
		}
		var all sync.WaitGroup
		read := func(report int64, want string) {
			all.Go(func() {
				l, err := list.List(t.Context(), storetest.Scope(t, 12), report)
				if err != nil || len(l.Values) != 1 || l.Values[0].Value.Value != want {
					t.Errorf("report %d: %+v, %v; want value %s", report, l.Values, err, want)
				}
			})
			synctest.Wait()
		}
		add("a", 7001)
		read(7001, "a")
		add("b", 7002) // the running scan may have passed it
		for range 25 {
			read(7002, "b")
			read(7001, "a")
		}
		all.Wait()
		if n := store.scans.Load(); n != 2 {
			t.Errorf("%d scans, want 2", n)
		}
	})
}
