package closing_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

type bench struct {
	*storetest.Bench
	storetest.Cases
}

var asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}

// setup returns a report with values of three tests and a rerun that has its values.
func setup(t *testing.T) *bench {
	t.Helper()
	s := storetest.NewBench(t)
	b := &bench{s, s.Cases(nil)}
	b.Change(7001, func(r *memory.Row) {
		r.Results = []rerun.Result{
			{Index: 1, Order: 1, ParameterName: "Haemoglobin", Value: "13.1"},
			{Index: 3, Order: 2, ParameterName: "White cells", Value: "4.0"},
			{ProfileTestID: 301, Index: 8, Order: 3, ParameterName: "a", Value: "5"},
			{ProfileTestID: 302, Index: 8, Order: 4, ParameterName: "b", Value: "6"},
		}
	})
	b.open()
	return b
}

func (b *bench) open() {
	b.T.Helper()
	scope := storetest.Scope(b.T, 12)
	if _, err := b.Request.Request(b.T.Context(), scope, request.Command{ReportID: 7001, Type: rerun.Manual,
		Requested: []int{1, 8}, Actor: asha}); err != nil {
		b.T.Fatal(err)
	}
	for _, value := range []string{"9.1", "9.2"} { // the second replaces the first
		_, err := b.Receive.Receive(b.T.Context(), scope, receive.Command{ReportID: 7001, Number: 1, SampleID: "S-1",
			DeviceID: "xn",
			Readings: []receive.Reading{{Index: 1, Value: value}, {Index: 8, Value: "7"}}})
		if err != nil {
			b.T.Fatal(err)
		}
	}
}

func (b *bench) confirm(rows ...rerun.Result) error {
	c := closing.Confirmation{ReportID: 7001, Actor: asha}
	for _, r := range rows {
		c.Rows = append(c.Rows, closing.Row{Result: r})
	}
	return b.Closing.Confirm(b.T.Context(), storetest.Scope(b.T, 12), c)
}

func TestAConfirmReplacesArchivesAndCloses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.confirm(rerun.Result{Index: 1, Value: "9.2", Highlight: 1},
		rerun.Result{ProfileTestID: 302, Index: 8, Value: "7", Automated: 1}); err != nil {
		t.Fatal(err)
	}
	s := b.State(7001)
	if diff := cmp.Diff(map[string]string{"0/1": "9.2", "0/3": "4.0", "301/8": "5", "302/8": "7"}, s.Present); diff != "" {
		t.Fatal(diff)
	}
	if s.Flag != rerun.Normal || s.Cached || len(s.Records)+len(s.Values) != 0 || s.Outbox != 1 {
		t.Fatalf("%+v", s)
	}
	var got rerun.Snapshot
	if err := json.Unmarshal(s.Log[activitylog.RerunValuesConfirmed][0], &got); err != nil {
		t.Fatal(err)
	}
	if got.RerunID == "" || got.RerunNumber != 1 || len(got.Reruns) != 1 || len(got.RerunValues) != 2 ||
		len(got.RerunValues[0].History) != 1 {
		t.Fatalf("%+v", got)
	}
	if got.RerunValues[0].Value != "9.2" || got.RerunValues[0].History[0].Value != "9.1" ||
		got.RerunValues[0].DeviceID != "xn" {
		t.Fatalf("%+v", got.RerunValues)
	}
	no := false
	wantOld := rerun.State{Flag: 4, Signed: &no, Values: []rerun.ArchivedResult{
		{Index: 1, Order: 1, ParameterName: "Haemoglobin", Value: "13.1"},
		{ProfileTestID: 302, Index: 8, Order: 4, ParameterName: "b", Value: "6"}}}
	wantNew := rerun.State{Flag: 0, Signed: &no, Values: []rerun.ArchivedResult{
		{Index: 1, Order: 1, ParameterName: "Haemoglobin", Value: "9.2", Highlight: 1},
		{ProfileTestID: 302, Index: 8, Order: 1, ParameterName: "ESR", Value: "7", Automated: 1}}}
	if diff := cmp.Diff([]rerun.State{wantOld, wantNew}, []rerun.State{got.Old, got.New}); diff != "" {
		t.Fatal(diff)
	}
}

func TestARowWithoutATestReplacesEveryValueOfItsIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.confirm(rerun.Result{Index: 8, Value: "7"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"0/1": "13.1", "0/3": "4.0", "0/8": "7"}, b.State(7001).Present); diff != "" {
		t.Fatal(diff)
	}
}

func TestNameAndOrderComeFromTheRowsOwnTest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Fixture.AddParameter(rerun.Parameter{TestID: 301, Index: 8, Order: 9, Name: "Other"})
	if err := b.confirm(rerun.Result{ProfileTestID: 301, Index: 8, Value: "1"},
		rerun.Result{ProfileTestID: 302, Index: 8, Value: "2"}); err != nil {
		t.Fatal(err)
	}
	var got rerun.Snapshot
	if err := json.Unmarshal(b.State(7001).Log[activitylog.RerunValuesConfirmed][0], &got); err != nil {
		t.Fatal(err)
	}
	want := []rerun.ArchivedResult{{ProfileTestID: 301, Index: 8, Order: 9, ParameterName: "Other", Value: "1"},
		{ProfileTestID: 302, Index: 8, Order: 1, ParameterName: "ESR", Value: "2"}}
	if diff := cmp.Diff(want, got.New.Values); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheSignatureGoesWhenTheReportSaysSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row    rerun.Result
		signed bool
	}{
		"another value": {rerun.Result{Index: 1, Value: "9.2"}, false},
		"a new value":   {rerun.Result{ProfileTestID: 302, Index: 3, Value: "4.0"}, false},
		"the same":      {rerun.Result{Index: 1, Value: "13.1", ParameterName: "Haemoglobin"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.Change(7001, func(r *memory.Row) { r.Signed = true })
			if err := b.confirm(c.row); err != nil {
				t.Fatal(err)
			}
			if s := b.State(7001); s.Signed != c.signed {
				t.Fatalf("signed %v", s.Signed)
			}
		})
	}
}

func TestAnAbortKeepsTheReportAndArchives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Change(7001, func(r *memory.Row) { r.Signed = true })
	before := b.State(7001).Present
	if err := b.Closing.Abort(t.Context(), storetest.Scope(t, 12), 7001, asha); err != nil {
		t.Fatal(err)
	}
	s := b.State(7001)
	if diff := cmp.Diff(before, s.Present); diff != "" {
		t.Fatal(diff)
	}
	var got rerun.Snapshot
	if err := json.Unmarshal(s.Log[activitylog.RerunCancelled][0], &got); err != nil || len(got.RerunValues) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if s.Flag != rerun.Normal || s.Cached || !s.Signed || s.Outbox != 0 || len(s.Records)+len(s.Values) != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestWhatCannotBeClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.confirm(rerun.Result{Index: 99, Value: "1"}); !apperr.Is(err, apperr.Invalid) {
		t.Fatalf("unknown index: %v", err)
	}
	other := storetest.Scope(t, 13)
	if err := b.Closing.Abort(t.Context(), other, 7001, asha); !apperr.Is(err, apperr.NotFound) {
		t.Fatalf("another laboratory: %v", err)
	}
	if err := b.Closing.Confirm(t.Context(), other, closing.Confirmation{ReportID: 7001,
		Rows: []closing.Row{{Result: rerun.Result{Index: 1, Value: "1"}}}}); !apperr.Is(err, apperr.NotFound) {
		t.Fatalf("another laboratory: %v", err)
	}
	if s := b.State(7001); s.Flag != rerun.Fulfilled || len(s.Values) != 2 || s.Present["0/1"] != "13.1" {
		t.Fatalf("%+v", s)
	}
	if err := b.Closing.Abort(t.Context(), storetest.Scope(t, 12), 7001, asha); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"abort":   b.Closing.Abort(t.Context(), storetest.Scope(t, 12), 7001, asha),
		"confirm": b.confirm(rerun.Result{Index: 1, Value: "1"}),
	} {
		if got, ok := apperr.From(err); !ok || got.Kind != apperr.Conflict || got.Message != "No open sample rerun" {
			t.Errorf("%s at flag 0: %v", name, err)
		}
	}
}

func TestOfTwoRacingConfirmsExactlyOneHappens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const rounds, racers = 5, 4
	for round := range rounds {
		if round > 0 {
			b.open()
		}
		errs := make([]error, racers)
		var wait sync.WaitGroup
		for i := range racers {
			wait.Go(func() { errs[i] = b.confirm(rerun.Result{Index: 1, Value: fmt.Sprint(i)}) })
		}
		wait.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won < 0:
				won = i
			case !apperr.Is(err, apperr.Conflict):
				t.Fatalf("round %d: %v", round, err)
			}
		}
		s := b.State(7001)
		if won < 0 || s.Present["0/1"] != fmt.Sprint(won) || len(s.Log[activitylog.RerunValuesConfirmed]) != round+1 {
			t.Fatalf("round %d: winner %d, value %s, %d entries", round, won, s.Present["0/1"],
				len(s.Log[activitylog.RerunValuesConfirmed]))
		}
	}
	t.Logf("%d rounds of %d confirms: one happened, the others were refused with a conflict", rounds, racers)
}
