package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// RunBackend checks all stores of a backend.
func RunBackend(t *testing.T, open Open) {
	t.Helper()
	t.Run("documents", func(t *testing.T) {
		t.Parallel()
		Run(t, func(t *testing.T) Documents { return open(t, clock.Fixed(Now)).Documents })
	})
	for name, test := range map[string]func(*testing.T, Backend){
		"only the laboratory's reports are found":   found,
		"an error undoes everything":                undone,
		"what was committed is read back":           committed,
		"a report is locked by one at a time":       oneAtATime,
		"the ledger begins after the last closing":  ledger,
		"parameters are those of the profile":       parameters,
		"results are replaced":                      results,
		"a message with a key is sent once":         sentOnce,
		"open reports are found a page at a time":   openReports,
		"a failure is logged without a transaction": failures,
		"one process leads":                         oneLeads,
		"the open set is a laboratory's own":        openSet,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, clock.Fixed(Now))
			seed(b.Fixture)
			test(t, b)
		})
	}
}

func locked(t *testing.T, b Backend, work func(Locked) error) {
	t.Helper()
	must(t, b.Reports.Lock(t.Context(), Scope(t, 12), Report, work))
}

func found(t *testing.T, b Backend) {
	for id, scope := range map[int64]int64{ForeignReport: 12, Report: 13, 99: 12} {
		err := b.Reports.Lock(t.Context(), Scope(t, scope), id, func(Locked) error {
			t.Errorf("report %d was locked for laboratory %d", id, scope)
			return nil
		})
		if !apperr.Is(err, apperr.NotFound) {
			t.Errorf("report %d for laboratory %d: %v", id, scope, err)
		}
		if _, err := b.Reports.Flag(t.Context(), Scope(t, scope), id); !apperr.Is(err, apperr.NotFound) {
			t.Errorf("flag of report %d: %v", id, err)
		}
		if present, err := b.Reports.PresentValues(t.Context(), Scope(t, scope), id); err != nil || len(present) != 0 {
			t.Errorf("values of report %d: %v %v", id, present, err)
		}
	}
}

var errBoom = errors.New("boom")

// everything changes all that a locked report can change.
func everything(t *testing.T, l Locked) {
	t.Helper()
	must(t, l.SetFlag(t.Context(), rerun.Fulfilled))
	must(t, l.Unsign(t.Context()))
	_, err := l.Log(t.Context(), activitylog.Entry{Category: activitylog.RerunRequested, Actor: authn.Platform,
		At: Now, Meta: map[string]any{"rerun_id": "12-a", "rerun_number": 1, "requested_parameters": []int{1, 3}}})
	must(t, err)
	must(t, l.Send(t.Context(), outbox.Event{Aggregate: "report:7001", Kind: "k", Payload: []byte("p")}))
	must(t, l.Replace(t.Context(), nil, []rerun.Result{{Index: 1, Value: "9.2"}}))
}

func undone(t *testing.T, b Backend) {
	row := Row(Report)
	row.Signed = true
	b.Fixture.Put(row)
	err := b.Reports.Lock(t.Context(), Scope(t, 12), Report, func(l Locked) error {
		everything(t, l)
		return errBoom
	})
	if !errors.Is(err, errBoom) {
		t.Fatalf("error = %v", err)
	}
	if diff := cmp.Diff(row, b.Fixture.Get(Report), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

func committed(t *testing.T, b Backend) {
	row := Row(Report)
	row.Signed = true
	b.Fixture.Put(row)
	locked(t, b, func(l Locked) error {
		if !l.Report().Signed || l.Report().Flag != rerun.Normal || l.Report().BillID != 401 {
			t.Errorf("%+v", l.Report())
		}
		everything(t, l)
		return nil
	})
	got := b.Fixture.Get(Report)
	if got.Flag != rerun.Fulfilled || got.Signed || len(got.Log) != 1 || len(got.Sent) != 1 || len(got.Results) != 1 {
		t.Fatalf("%+v", got)
	}
	if got.Log[0].BillID != 401 || got.Log[0].Actor != authn.Platform {
		t.Fatalf("%+v", got.Log[0])
	}
	locked(t, b, func(l Locked) error {
		if l.Report().Flag != rerun.Fulfilled || l.Report().Signed {
			t.Errorf("%+v", l.Report())
		}
		return nil
	})
}

func oneAtATime(t *testing.T, b Backend) {
	const workers = 8
	inside := 0 // guarded by the lock under test; the race detector watches it
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			err := b.Reports.Lock(t.Context(), Scope(t, 12), Report, func(l Locked) error {
				inside++
				_, err := l.Log(
					t.Context(),
					activitylog.Entry{Category: activitylog.RerunRequested, Actor: authn.Platform, At: Now},
				)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := len(b.Fixture.Get(Report).Log); inside != workers || n != workers {
		t.Fatalf("%d inside, %d logged", inside, n)
	}
}

func ledger(t *testing.T, b Backend) {
	note := func(l Locked, category activitylog.Category, meta any) {
		_, err := l.Log(t.Context(), activitylog.Entry{Category: category, At: Now, Meta: meta})
		must(t, err)
	}
	locked(t, b, func(l Locked) error {
		note(l, activitylog.RerunRequested, map[string]any{"rerun_id": "old", "rerun_number": 7})
		note(l, activitylog.RerunCancelled, rerun.Archive([]rerun.Record{{ID: "old"}}, []rerun.Value{{ID: "value"}}))
		note(l, activitylog.RerunRequested, map[string]any{"rerun_id": "a", "rerun_number": 1,
			"requested_parameters": []int{3}})
		note(l, activitylog.RerunRequested, nil) // of another writer
		note(l, activitylog.RerunValuesReceived, map[string]any{"rerun_id": "a", "rerun_number": 1})
		note(l, activitylog.RerunValuesReceived, map[string]any{"rerun_id": "b", "rerun_number": 2, "fingerprint": "f"})
		return nil
	})
	locked(t, b, func(l Locked) error {
		got, err := l.Ledger(t.Context())
		must(t, err)
		want := rerun.Ledger{Requests: []rerun.Mark{{RerunID: "a", Number: 1, Requested: []int{3}}},
			Repetitions: []rerun.Mark{{RerunID: "b", Number: 2, Fingerprint: "f"}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		archived, err := l.Archived(t.Context())
		must(t, err)
		if diff := cmp.Diff(map[string]bool{"old": true, "value": true}, archived); diff != "" {
			t.Error(diff)
		}
		return nil
	})
}

func parameters(t *testing.T, b Backend) {
	b.Fixture.AddParameter(rerun.Parameter{TestID: Profile, Index: 8, Order: 9, Name: "Other"})
	want := []rerun.Parameter{{TestID: Profile, Index: 1, Order: 1, Name: "Haemoglobin"},
		{TestID: Child, Index: 8, Order: 1, Name: "ESR"},
		{TestID: Profile, Index: 3, Order: 2, Name: "White cells"}, {TestID: Profile, Index: 8, Order: 9, Name: "Other"}}
	locked(t, b, func(l Locked) error {
		got, err := l.Parameters(t.Context())
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return nil
	})
	must(t, b.Reports.Lock(t.Context(), Scope(t, 12), OtherReport, func(l Locked) error {
		got, err := l.Parameters(t.Context())
		if len(got) != 3 {
			t.Errorf("a report that is no profile: %+v", got)
		}
		return err
	}))
}

func results(t *testing.T, b Backend) {
	row := Row(Report)
	row.Results = []rerun.Result{{Index: 3, Order: 2, Value: "4.0"}, {Index: 1, Order: 1, Value: "13.1"},
		{ProfileTestID: Child, Index: 8, Order: 3, Value: "5"}, {ProfileTestID: Profile, Index: 8, Order: 4, Value: "6"}}
	b.Fixture.Put(row)
	locked(t, b, func(l Locked) error {
		present, err := l.Results(t.Context())
		must(t, err)
		if len(present) != 4 || present[0].Value != "13.1" || present[3].Value != "6" {
			t.Fatalf("%+v", present)
		}
		return l.Replace(t.Context(), present[1:3],
			[]rerun.Result{{Index: 3, Order: 2, Value: "4.4", Highlight: 2, Automated: 1}})
	})
	got, err := b.Reports.PresentValues(t.Context(), Scope(t, 12), Report)
	must(t, err)
	if diff := cmp.Diff(map[int]string{1: "13.1", 3: "4.4", 8: "6"}, got); diff != "" {
		t.Fatal(diff)
	}
}

func sentOnce(t *testing.T, b Backend) {
	for range 2 {
		locked(t, b, func(l Locked) error {
			return l.Send(t.Context(), outbox.Event{Aggregate: "report:7001", Kind: "k", Payload: []byte("p"), DedupeKey: "x"})
		})
	}
	if n := len(b.Fixture.Get(Report).Sent); n != 1 {
		t.Fatalf("%d messages", n)
	}
}

func openReports(t *testing.T, b Backend) {
	for _, id := range []int64{100, 101, 102, 103} {
		row := Row(id)
		row.Flag = []rerun.Flag{rerun.Requested, rerun.Normal, rerun.Fulfilled, rerun.Requested}[id-100]
		b.Fixture.Put(row)
	}
	for _, page := range []struct {
		after int64
		limit int
		want  map[int64]rerun.Flag
	}{
		{0, 2, map[int64]rerun.Flag{100: 3, 102: 4}}, {100, 9, map[int64]rerun.Flag{102: 4, 103: 3}}, {103, 9, nil},
	} {
		got, err := b.Reports.OpenReports(t.Context(), Scope(t, 12), page.after, page.limit)
		must(t, err)
		if diff := cmp.Diff(page.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d above %d: %s", page.limit, page.after, diff)
		}
	}
	flags, err := b.Reports.Flags(t.Context(), Scope(t, 12), []int64{102, 101, 99, ForeignReport})
	must(t, err)
	if diff := cmp.Diff(map[int64]rerun.Flag{102: 4, 101: 0}, flags); diff != "" {
		t.Error(diff)
	}
	laboratories, err := b.Reports.Laboratories(t.Context())
	must(t, err)
	if diff := cmp.Diff([]int64{12, 13}, laboratories); diff != "" {
		t.Error(diff)
	}
	open, err := b.Reports.OpenLaboratories(t.Context())
	must(t, err)
	if diff := cmp.Diff([]int64{12}, open); diff != "" {
		t.Error(diff)
	}
}

func failures(t *testing.T, b Backend) {
	must(t, b.Reports.LogFailure(t.Context(), Scope(t, 12), Report, activitylog.Entry{
		Category: activitylog.RerunFailed, Actor: authn.Platform, At: Now, Meta: map[string]any{"type": "Auto"}}))
	if log := b.Fixture.Get(Report).Log; len(log) != 1 || log[0].Category != activitylog.RerunFailed {
		t.Fatalf("%+v", log)
	}
}
