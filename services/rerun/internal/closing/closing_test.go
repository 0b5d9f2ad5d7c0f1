package closing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

type fixture struct{ *storetest.Fixture }

// setup returns a report with values of two tests, and a rerun that has received its values.
func setup(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{storetest.New(t)}
	for _, r := range []rerun.Result{
		{Index: 1, Order: 1, ParameterName: "Haemoglobin", Value: "13.1"},
		{Index: 3, Order: 2, ParameterName: "White cells", Value: "4.0"},
		{ProfileTestID: 301, Index: 8, Order: 3, ParameterName: "a", Value: "5"},
		{ProfileTestID: 302, Index: 8, Order: 4, ParameterName: "b", Value: "6"},
	} {
		f.AddResult(storetest.Report, r)
	}
	f.open()
	return f
}

// open requests a rerun. Its first value was replaced more than a minute ago.
func (f *fixture) open() {
	f.T.Helper()
	if _, err := f.Ask(f.T, storetest.Report, 1, 8); err != nil {
		f.T.Fatal(err)
	}
	for _, text := range []string{"1=9.1 8=7", "1=9.2 8=7"} {
		m := storetest.Message(storetest.Report, 1, text)
		m.Readings[1].Name = "ESR"
		if _, err := f.Say(f.T, m); err != nil {
			f.T.Fatal(err)
		}
	}
	f.Clock.Advance(time.Minute)
}

func (f *fixture) confirm(rows ...rerun.Result) error {
	_, err := f.confirmSeen(time.Time{}, rows...)
	return err
}

func (f *fixture) confirmSeen(seen time.Time, rows ...rerun.Result) (closing.Confirmed, error) {
	c := closing.Confirmation{ReportID: storetest.Report, Actor: storetest.Asha, SeenAt: seen}
	for _, r := range rows {
		c.Rows = append(c.Rows, closing.Row{Result: r})
	}
	return f.Closing.Confirm(f.T.Context(), storetest.Scope(f.T, 12), c)
}

func TestAConfirmReplacesArchivesAndCloses(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if err := f.confirm(rerun.Result{Index: 1, Value: "9.2", Highlight: 1},
		rerun.Result{ProfileTestID: 302, Index: 8, Value: "7", Automated: 1}); err != nil {
		t.Fatal(err)
	}
	s := f.State(7001)
	if diff := cmp.Diff(map[string]string{"0/1": "9.2", "0/3": "4.0", "301/8": "5", "302/8": "7"}, s.Present); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if s.Flag != rerun.Normal || s.Cached || len(s.Records)+len(s.Values) != 0 || s.Evaluations != 1 || len(s.Announced) != 0 {
		t.Fatalf("unexpected state %+v", s)
	}
	var got rerun.Snapshot
	if err := json.Unmarshal(s.Log[activitylog.RerunValuesConfirmed][0], &got); err != nil {
		t.Fatal(err)
	}
	if got.RerunID == "" || got.RerunNumber != 1 || len(got.Reruns) != 1 || len(got.RerunValues) != 2 ||
		len(got.RerunValues[0].History) != 1 {
		t.Fatalf("unexpected archive %+v", got)
	}
	if got.RerunValues[0].Value != "9.2" || got.RerunValues[0].History[0].Value != "9.1" ||
		got.RerunValues[0].DeviceID != "xn" {
		t.Fatalf("unexpected values in the archive %+v", got.RerunValues)
	}
	no := false
	wantOld := rerun.State{Flag: 4, Signed: &no, Values: []rerun.ArchivedResult{
		{Index: 1, Order: 1, ParameterName: "Haemoglobin", Value: "13.1"},
		{ProfileTestID: 302, Index: 8, Order: 4, ParameterName: "b", Value: "6"}}}
	wantNew := rerun.State{Flag: 0, Signed: &no, Values: []rerun.ArchivedResult{
		{Index: 1, Order: 1, ParameterName: "Haemoglobin", Value: "9.2", Highlight: 1},
		{ProfileTestID: 302, Index: 8, Order: 1, ParameterName: "ESR", Value: "7", Automated: 1}}}
	if diff := cmp.Diff([]rerun.State{wantOld, wantNew}, []rerun.State{got.Old, got.New}); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
}

// replaced describes the result of a confirm: "test/index: previous -> value".
func replaced(rows []closing.Replaced) (texts []string) {
	for _, r := range rows {
		previous := "-"
		if r.Previous != nil {
			previous = *r.Previous
		}
		texts = append(texts, fmt.Sprintf("%s %d/%d: %s -> %s", r.TestName, r.ProfileTestID, r.Index, previous, r.Value))
	}
	return texts
}

func TestARowReplacesTheValueOfItsOwnTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  rerun.Result
		want string // the replaced values, or the rejected field
	}{
		"by its test":              {rerun.Result{ProfileTestID: 302, Index: 8, Value: "7"}, "[Sedimentation 302/8: 6 -> 7]"},
		"by the other test":        {rerun.Result{ProfileTestID: 301, Index: 8, Value: "7"}, "[Blood count 301/8: 5 -> 7]"},
		"by the name of a format":  {rerun.Result{Index: 8, ParameterName: "ESR", Value: "7"}, "[Sedimentation 302/8: 6 -> 7]"},
		"by the name of a row":     {rerun.Result{Index: 8, ParameterName: "A", Value: "7"}, "[Blood count 301/8: 5 -> 7]"},
		"by the only test":         {rerun.Result{Index: 3, Value: "7"}, "[Blood count 0/3: 4.0 -> 7]"},
		"by the own test's id":     {rerun.Result{ProfileTestID: 301, Index: 3, Value: "7"}, "[Blood count 0/3: 4.0 -> 7]"},
		"nothing decides":          {rerun.Result{Index: 8, Value: "7"}, "index"},
		"a name that decides not":  {rerun.Result{Index: 8, ParameterName: "c", Value: "7"}, "index"},
		"a test without the index": {rerun.Result{ProfileTestID: 302, Index: 3, Value: "7"}, "profileTestId"},
		"another report's test":    {rerun.Result{ProfileTestID: 303, Index: 8, Value: "7"}, "profileTestId"},
		"an unknown index":         {rerun.Result{Index: 99, Value: "7"}, "index"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			before := f.State(storetest.Report)
			confirmed, err := f.confirmSeen(time.Time{}, c.row)
			got := fmt.Sprint(replaced(confirmed.Replaced))
			if e, ok := apperr.From(err); ok {
				got = e.Fields[0].Name
			}
			if got != c.want {
				t.Fatalf("replaced %s, error %v; want %s", got, err, c.want)
			}
			after := f.State(storetest.Report)
			changed := len(before.Present) - len(after.Present)
			for key, value := range before.Present {
				if after.Present[key] != value {
					changed++
				}
			}
			if want := len(confirmed.Replaced); changed != want || (err != nil && !cmp.Equal(before, after)) {
				t.Errorf("%d values changed, want %d: %v after %v", changed, want, after.Present, before.Present)
			}
		})
	}
}

// TestAValueOfAProfileWithinAProfileIsItsOwnTests: the electrolytes belong to the profile 302, which belongs to the
// profile 301 that the report is about. Their potassium has the index of the haemoglobin.
func TestAValueOfAProfileWithinAProfileIsItsOwnTests(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Exec("INSERT INTO AllTests (id, labId_id, testName) VALUES (304, 12, 'Electrolytes')")
	f.Exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId) VALUES (903, 401, 12, 304, 902)")
	f.AddParameter(rerun.Parameter{TestID: 304, Index: 1, Order: 1, Name: "Potassium"})
	f.AddResult(storetest.Report, rerun.Result{ProfileTestID: 304, Index: 1, Order: 1, ParameterName: "Potassium", Value: "6.9"})
	m := storetest.Message(storetest.Report, -1, "1=4.2")
	m.Readings[0].Name = "Potassium"
	if _, err := f.Say(t, m); err != nil {
		t.Fatal(err)
	}
	if v := f.State(storetest.Report).Values; v[len(v)-1].TestID != 304 {
		t.Errorf("the repeated potassium is stored for test %d, want 304", v[len(v)-1].TestID)
	}
	confirmed, err := f.confirmSeen(time.Time{}, rerun.Result{Index: 1, ParameterName: "Potassium", Value: "4.2"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(replaced(confirmed.Replaced)), "[Electrolytes 304/1: 6.9 -> 4.2]"; got != want {
		t.Errorf("replaced %s, want %s", got, want)
	}
	want := map[string]string{"0/1": "13.1", "0/3": "4.0", "301/8": "5", "302/8": "6", "304/1": "4.2"}
	if diff := cmp.Diff(want, f.State(storetest.Report).Present); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}

// TestATestThatAValueNamesIsOneOfTheReport: the report does not name its row in billingInfo, so that nothing but its
// values tells the tests of its profile.
func TestATestThatAValueNamesIsOneOfTheReport(t *testing.T) {
	t.Parallel()
	f := &fixture{storetest.New(t)}
	f.AddResult(storetest.OtherReport, rerun.Result{ProfileTestID: 302, Index: 8, Order: 1, ParameterName: "ESR", Value: "6"})
	m := storetest.Message(storetest.OtherReport, -1, "8=7")
	m.SampleID = "S-2"
	if _, err := f.Say(t, m); err != nil {
		t.Fatalf("the repeated value: %v, want no error", err)
	}
	_, err := f.Closing.Confirm(t.Context(), storetest.Scope(t, 12), closing.Confirmation{ReportID: storetest.OtherReport,
		Actor: storetest.Asha, Rows: []closing.Row{{Result: rerun.Result{ProfileTestID: 302, Index: 8, Value: "7"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"302/8": "7"}, f.State(storetest.OtherReport).Present); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}

func TestAConfirmFromAnOldPageIsRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	row := rerun.Result{Index: 1, Value: "9.2"}
	page := func() time.Time {
		t.Helper()
		l, err := listing.New(f.Reports, f.Documents).List(t.Context(), storetest.Scope(t, 12), storetest.Report)
		if err != nil {
			t.Fatal(err)
		}
		return l.AsOf
	}
	say := func(text string) {
		t.Helper()
		if _, err := f.Say(t, storetest.Message(storetest.Report, 1, text)); err != nil {
			t.Fatal(err)
		}
	}
	seen := page()
	f.Clock.Advance(time.Hour)
	say("1=3.1")
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := apperr.From(err); !ok || e.Kind != apperr.Conflict || e.Reason != "VALUES_ARRIVED" {
			t.Errorf("%s: %v, want VALUES_ARRIVED", what, err)
		}
	}
	_, err := f.confirmSeen(seen, row)
	refused("a page from before the value", err)
	refused("no page, and the value was just replaced", f.confirm(row))
	if _, err := f.confirmSeen(f.Clock.Now().Add(time.Hour), row); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("a page of the future: %v, want Invalid", err)
	}
	say("1=3.1") // an equal value is not new
	if s := f.State(storetest.Report); s.Flag != rerun.Fulfilled || s.Present["0/1"] != "13.1" {
		t.Fatalf("state %+v, want the rerun open and the report unchanged", s)
	}
	if _, err := f.confirmSeen(page(), row); err != nil {
		t.Errorf("the present page: %v", err)
	}
}

// TestAPageIsConfirmedAfterAClockWasAhead stores a value while the clock is two hours ahead. The clock is then corrected,
// so the page is newer than now.
func TestAPageIsConfirmedAfterAClockWasAhead(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Clock.Advance(2 * time.Hour)
	if _, err := f.Say(t, storetest.Message(storetest.Report, 1, "1=9.3")); err != nil {
		t.Fatal(err)
	}
	f.Clock.Advance(-2 * time.Hour)
	l, err := listing.New(f.Reports, f.Documents).List(t.Context(), storetest.Scope(t, 12), storetest.Report)
	if err != nil {
		t.Fatal(err)
	}
	row := rerun.Result{Index: 1, Value: "9.3"}
	if _, err := f.confirmSeen(l.AsOf.Add(time.Millisecond), row); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("a page that is newer than the newest: %v, want Invalid", err)
	}
	if _, err := f.confirmSeen(l.AsOf, row); err != nil {
		t.Errorf("the present page, of %v at %v: %v", l.AsOf, f.Clock.Now(), err)
	}
}

func TestWithoutAPageOnlyAConfirmedIndexIsCompared(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if _, err := f.Say(t, storetest.Message(storetest.Report, 1, "1=3.1")); err != nil {
		t.Fatal(err)
	}
	if err := f.confirm(rerun.Result{ProfileTestID: 302, Index: 8, Value: "7"}); err != nil {
		t.Errorf("another index was replaced: %v, want no error", err)
	}
}

// drawAgain gives the report a new sample.
func (f *fixture) drawAgain() {
	f.Set(storetest.Report, "sampleId", "drawn-again")
	f.Set(storetest.Report, "manualSampleId", "")
}

// TestTheValueOfAFormerSampleIsNotConfirmed draws the sample again, because the first tube cannot be trusted, and
// confirms a value of the first one.
func TestTheValueOfAFormerSampleIsNotConfirmed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.drawAgain()
	before := f.State(storetest.Report)
	if err := f.confirm(rerun.Result{Index: 1, Value: "9.2"}); !errors.Is(err, closing.ErrOtherSample) {
		t.Fatalf("error = %v, want %v", err, closing.ErrOtherSample)
	}
	if after := f.State(storetest.Report); !cmp.Equal(before, after) {
		t.Errorf("state %+v, want %+v", after, before)
	}
	if err := f.confirm(rerun.Result{Index: 3, Value: "4.1"}); err != nil {
		t.Errorf("a parameter that was not measured on it: %v, want no error", err)
	}
}

// TestAnEqualValueOfThePresentSampleIsConfirmed: the sample was drawn again, and the same instrument measures the same
// value for the same request.
func TestAnEqualValueOfThePresentSampleIsConfirmed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.drawAgain()
	m := storetest.Message(storetest.Report, 1, "1=9.2")
	m.SampleID = "drawn-again"
	if _, err := f.Say(t, m); err != nil {
		t.Fatal(err)
	}
	f.Clock.Advance(time.Minute)
	if err := f.confirm(rerun.Result{Index: 1, Value: "9.2"}); err != nil {
		t.Errorf("the value of the present sample: %v, want no error", err)
	}
}

// TestOfTwoSamplesOnlyTheValueOfThePresentOneIsConfirmed: the sample was drawn again and measured, and the page still
// offers the value of the previous one.
func TestOfTwoSamplesOnlyTheValueOfThePresentOneIsConfirmed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.drawAgain()
	m := storetest.Message(storetest.Report, -1, "1=5.0")
	m.SampleID = "drawn-again"
	if _, err := f.Say(t, m); err != nil {
		t.Fatal(err)
	}
	if err := f.confirm(rerun.Result{Index: 1, Value: "9.2"}); !errors.Is(err, closing.ErrOtherSample) {
		t.Errorf("the value of the previous sample: error = %v, want %v", err, closing.ErrOtherSample)
	}
	if err := f.confirm(rerun.Result{Index: 1, Value: "5.0"}); err != nil {
		t.Errorf("the value of the present sample: %v, want no error", err)
	}
}

func TestADismissedReportIsNotConfirmed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Set(storetest.Report, "dismissed", 1)
	if err := f.confirm(rerun.Result{Index: 1, Value: "9.2"}); !errors.Is(err, rerun.ErrDismissed) {
		t.Fatalf("error = %v, want %v", err, rerun.ErrDismissed)
	}
	if err := f.Closing.Abort(t.Context(), storetest.Scope(t, 12), storetest.Report, storetest.Asha); err != nil {
		t.Fatalf("abort of a dismissed report: %v, want no error", err)
	}
}

func TestNameAndOrderComeFromTheRowsOwnTest(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.AddParameter(rerun.Parameter{TestID: 301, Index: 8, Order: 9, Name: "Other"})
	if err := f.confirm(rerun.Result{ProfileTestID: 301, Index: 8, Value: "1"},
		rerun.Result{ProfileTestID: 302, Index: 8, Value: "2"}); err != nil {
		t.Fatal(err)
	}
	var got rerun.Snapshot
	if err := json.Unmarshal(f.State(7001).Log[activitylog.RerunValuesConfirmed][0], &got); err != nil {
		t.Fatal(err)
	}
	want := []rerun.ArchivedResult{{ProfileTestID: 301, Index: 8, Order: 9, ParameterName: "Other", Value: "1"},
		{ProfileTestID: 302, Index: 8, Order: 1, ParameterName: "ESR", Value: "2"}}
	if diff := cmp.Diff(want, got.New.Values); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
}

func TestTheSignatureGoesWhenTheReportSaysSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row    rerun.Result
		signed bool
	}{
		"another value": {rerun.Result{Index: 1, Value: "9.2"}, false},
		"a new name":    {rerun.Result{Index: 1, Value: "13.1", ParameterName: "Hb"}, false},
		"the same":      {rerun.Result{Index: 1, Value: "13.1", ParameterName: "Haemoglobin"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.Set(7001, "isSigned", 1)
			if err := f.confirm(c.row); err != nil {
				t.Fatal(err)
			}
			if s := f.State(7001); s.Signed != c.signed {
				t.Fatalf("signed %v, want %v", s.Signed, c.signed)
			}
		})
	}
}

func TestAnAbortKeepsTheReportAndArchives(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Set(7001, "isSigned", 1)
	before := f.State(7001).Present
	if err := f.Closing.Abort(t.Context(), storetest.Scope(t, 12), 7001, storetest.Asha); err != nil {
		t.Fatal(err)
	}
	s := f.State(7001)
	if diff := cmp.Diff(before, s.Present); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	var got rerun.Snapshot
	if err := json.Unmarshal(s.Log[activitylog.RerunCancelled][0], &got); err != nil || len(got.RerunValues) != 2 {
		t.Fatalf("got %+v %v, want 2", got, err)
	}
	if s.Flag != rerun.Normal || s.Cached || !s.Signed || s.Evaluations != 0 || len(s.Announced) != 0 || len(s.Records)+len(s.Values) != 0 {
		t.Fatalf("unexpected state %+v", s)
	}
}

func TestWhatCannotBeClosed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if err := f.confirm(rerun.Result{Index: 99, Value: "1"}); !apperr.Is(err, apperr.Invalid) {
		t.Fatalf("unknown index: %v", err)
	}
	other := storetest.Scope(t, 13)
	if err := f.Closing.Abort(t.Context(), other, 7001, storetest.Asha); !apperr.Is(err, apperr.NotFound) {
		t.Fatalf("another laboratory: %v", err)
	}
	if _, err := f.Closing.Confirm(t.Context(), other, closing.Confirmation{ReportID: 7001,
		Rows: []closing.Row{{Result: rerun.Result{Index: 1, Value: "1"}}}}); !apperr.Is(err, apperr.NotFound) {
		t.Fatalf("another laboratory: %v", err)
	}
	if s := f.State(7001); s.Flag != rerun.Fulfilled || len(s.Values) != 2 || s.Present["0/1"] != "13.1" {
		t.Fatalf("unexpected state %+v", s)
	}
	if err := f.Closing.Abort(t.Context(), storetest.Scope(t, 12), 7001, storetest.Asha); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"abort":   f.Closing.Abort(t.Context(), storetest.Scope(t, 12), 7001, storetest.Asha),
		"confirm": f.confirm(rerun.Result{Index: 1, Value: "1"}),
	} {
		if got, ok := apperr.From(err); !ok || got.Kind != apperr.Conflict || got.Message != "No open sample rerun" {
			t.Errorf("%s at flag 0: %v", name, err)
		}
	}
}

func TestOfTwoRacingConfirmsExactlyOneHappens(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const rounds, racers = 5, 4
	for round := range rounds {
		if round > 0 {
			f.open()
		}
		errs := make([]error, racers)
		var wait sync.WaitGroup
		for i := range racers {
			wait.Go(func() { errs[i] = f.confirm(rerun.Result{Index: 1, Value: fmt.Sprint(i)}) })
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
		s := f.State(7001)
		if won < 0 || s.Present["0/1"] != fmt.Sprint(won) || len(s.Log[activitylog.RerunValuesConfirmed]) != round+1 {
			t.Fatalf("round %d: winner %d, value %s, %d entries", round, won, s.Present["0/1"],
				len(s.Log[activitylog.RerunValuesConfirmed]))
		}
	}
	t.Logf("%d rounds of %d confirms: one happened, the others were refused with a conflict", rounds, racers)
}
