package receive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// fixture is a report with instruments that send messages about it.
type fixture struct{ *storetest.Fixture }

func setup(t *testing.T) *fixture {
	t.Helper()
	return &fixture{storetest.New(t)}
}

func (f *fixture) ask(indices ...int) {
	f.T.Helper()
	if _, err := f.Ask(f.T, storetest.Report, indices...); err != nil {
		f.T.Fatal(err)
	}
}

func message(number int, text string) receive.Command {
	return storetest.Message(storetest.Report, number, text)
}

func (f *fixture) send(m receive.Command) (receive.Result, error) { return f.Say(f.T, m) }

func (f *fixture) say(number int, text string) receive.Result {
	f.T.Helper()
	r, err := f.send(message(number, text))
	if err != nil {
		f.T.Fatalf("message %d %q: %v", number, text, err)
	}
	return r
}

// expect fails unless the report has this flag and these stored values, each as "number:index=value" in the order of
// the listing, and all of them were announced.
func (f *fixture) expect(flag rerun.Flag, values ...string) storetest.State {
	f.T.Helper()
	s := f.State(storetest.Report)
	if diff := cmp.Diff(append([]string{}, values...), s.Received()); diff != "" || s.Flag != flag {
		f.T.Fatalf("flag %d, want %d; values (-want +got):\n%s", s.Flag, flag, diff)
	}
	announced := []string{}
	for _, v := range s.Values {
		announced = append(announced, fmt.Sprintf("%d=%s", v.Index, v.Value))
	}
	if !cmp.Equal(announced, s.Announced, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b })) {
		f.T.Fatalf("the callout service knows %v, want %v", s.Announced, announced)
	}
	return s
}

func (f *fixture) refused(m receive.Command, want error) {
	f.T.Helper()
	_, err := f.send(m)
	got, _ := apperr.From(err)
	if got == nil || got.Message != want.Error() || got.Kind != apperr.KindOf(want) {
		f.T.Fatalf("error = %v, want %v", err, want)
	}
}

func TestARequestIsFulfilledByTheSetOfItsValues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1, 3, 8)
	first := f.say(1, "3=4.2 5=1 99=7")
	want := receive.Result{Accepted: []int{3}, Rejected: []int{5, 99}, Pending: []int{1, 8}, Flag: rerun.Requested}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if r := f.say(1, "3=4.2"); len(r.Pending) != 2 || r.Flag != rerun.Requested {
		t.Fatalf("the same again: %+v", r)
	}
	if r := f.say(1, "8=5 1=13.5"); len(r.Pending) != 0 || r.Flag != rerun.Fulfilled {
		t.Fatalf("unexpected result %+v", r)
	}
	s := f.expect(rerun.Fulfilled, "1:1=13.5", "1:8=5", "1:3=4.2")
	if !s.Cached || len(s.Log[activitylog.RerunValuesReceived]) != 2 ||
		s.Values[0].ParameterName != "Haemoglobin" || s.Values[0].Order != 1 {
		t.Fatalf("unexpected state %+v", s)
	}
	f.refused(message(1, "5=1 99=7"), receive.ErrNothing)
}

func TestAMessageThatIsDeliveredAgainChangesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1, 3)
	for range 3 {
		if r := f.say(1, "1=13.5 3=4.2"); r.Flag != rerun.Fulfilled || len(r.Accepted) != 2 {
			t.Fatalf("unexpected result %+v", r)
		}
	}
	s := f.expect(rerun.Fulfilled, "1:1=13.5", "1:3=4.2")
	if len(s.Values[0].History) != 0 || len(s.Log[activitylog.RerunValuesReceived]) != 1 {
		t.Fatalf("unexpected state %+v", s)
	}
}

func TestAnotherValueReplacesAndKeepsTheOld(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1, 3)
	f.say(1, "1=13.5")
	f.say(1, "1=14.0")
	other := message(1, "1=14.0")
	other.DeviceID = "another"
	if _, err := f.send(other); err != nil {
		t.Fatal(err)
	}
	s := f.expect(rerun.Requested, "1:1=14.0")
	history := s.Values[0].History
	if len(history) != 2 || history[0].Value != "13.5" || history[1].Value != "14.0" || history[1].DeviceID != "xn" ||
		s.Values[0].DeviceID != "another" {
		t.Fatalf("%+v", s.Values[0])
	}
}

func TestARepetitionOfTheInstrumentIsStoredFromEveryFlag(t *testing.T) {
	t.Parallel()
	f := setup(t)
	first := f.say(-1, "1=9.1 3=4.2 99=1")
	if !first.ByInstrument || first.Flag != rerun.Fulfilled || len(first.Pending) != 0 || len(first.Rejected) != 1 {
		t.Fatalf("%+v", first)
	}
	s := f.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2")
	if !s.Cached || s.Records[0].Type != rerun.ByAnalyser || s.Records[0].Active {
		t.Fatalf("unexpected state %+v", s)
	}
	f.say(-1, "3=4.2 1=9.1 99=1") // delivered again, with another order
	f.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2")
	f.say(-1, "1=9.2 3=4.2")
	f.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2", "2:1=9.2", "2:3=4.2")
	f.ask(8)
	f.say(-1, "1=9.2 3=4.2") // late delivery of a stored message; the request is still waiting
	f.expect(rerun.Requested, "1:1=9.1", "1:3=4.2", "2:1=9.2", "2:3=4.2")
	f.say(-1, "1=9.3")
	f.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2", "2:1=9.2", "2:3=4.2", "4:1=9.3")
	if r := f.say(3, "8=5"); r.Flag != rerun.Fulfilled || len(r.Pending) != 0 {
		t.Fatalf("the request still takes its values: %+v", r)
	}
}

func TestAValueBelongsToTheTestThatItsNameNames(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 8, Order: 9, Name: "Other"})
	for i, c := range []struct {
		name  string
		test  int64
		known bool
		order int
	}{{"other", 0, true, 9}, {"ESR", storetest.Child, true, 1}, {"", 0, false, 0}, {"unknown", 0, false, 0}} {
		m := message(-1, fmt.Sprint("8=", i))
		m.Readings[0].Name = c.name
		if _, err := f.send(m); err != nil {
			t.Fatal(err)
		}
		values := f.State(storetest.Report).Values
		v := values[len(values)-1]
		if v.Order != c.order || v.TestID != c.test || v.TestKnown != c.known || v.ParameterName != c.name {
			t.Errorf("%q: test %d, %v, order %d, name %q; want %d, %v, %d, %q", c.name, v.TestID, v.TestKnown, v.Order,
				v.ParameterName, c.test, c.known, c.order, c.name)
		}
	}
}

func TestNoTestsValueReplacesThatOfAnother(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 8, Order: 9, Name: "Other"})
	f.ask(8)
	named := func(number int, value, name string) receive.Command {
		m := message(number, "8="+value)
		m.Readings[0].Name = name
		return m
	}
	if _, err := f.send(named(1, "7.9", "ESR")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Other", ""} {
		f.refused(named(1, "118", name), receive.ErrOtherTest)
	}
	if _, err := f.send(named(-1, "118", "Other")); err != nil {
		t.Fatal(err)
	}
	f.expect(rerun.Fulfilled, "1:8=7.9", "2:8=118")
}

// TestEqualValuesOfTwoTestsAreNotOneValue sends one message about two tests of a profile that share an index, and by
// chance a value.
func TestEqualValuesOfTwoTestsAreNotOneValue(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 8, Order: 9, Name: "Other"})
	both := func(text, first, second string) receive.Command {
		m := message(-1, text)
		m.Readings[0].Name, m.Readings[1].Name = first, second
		return m
	}
	f.refused(both("8=5 8=5", "ESR", "Other"), receive.ErrTwoTests)
	f.expect(rerun.Normal)
	for name, m := range map[string]receive.Command{
		"one test under two names": both("1=9.1 1=9.1", "Hb", "HGB"), "one test and no name": both("8=5 8=5", "ESR", ""),
		"not of this report": both("99=5 99=5", "ESR", "Other"),
	} {
		m.Readings = append(m.Readings, receive.Reading{Index: 3, Value: "4.2"})
		if r, err := f.send(m); err != nil || len(r.Accepted)+len(r.Rejected) != 2 {
			t.Errorf("%s: %+v, %v; want each index once", name, r, err)
		}
	}
}

// TestNoValueWithoutANameReplacesAnother has an instrument that sends no names: a bilirubin of 18.2 arrives, then the
// ESR with the same index. Nothing shows that the second value corrects the first.
func TestNoValueWithoutANameReplacesAnother(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 8, Order: 9, Name: "Bilirubin"})
	f.ask(8)
	f.say(1, "8=18.2")
	f.refused(message(1, "8=5"), receive.ErrOtherTest)
	f.say(1, "8=18.2") // delivered again
	f.expect(rerun.Fulfilled, "1:8=18.2")
	f.say(-1, "8=5")
	f.expect(rerun.Fulfilled, "1:8=18.2", "2:8=5")
}

func TestAMessageOfAnInstrumentIsRememberedForThirtyDays(t *testing.T) {
	t.Parallel()
	f := setup(t)
	end := func() {
		t.Helper()
		if err := f.Closing.Abort(t.Context(), storetest.Scope(t, 12), storetest.Report, storetest.Asha); err != nil {
			t.Fatal(err)
		}
	}
	f.say(-1, "1=9.1")
	end()
	for range 2 { // two analysers that repeat alternately
		for _, device := range []string{"xn", "other"} {
			m := message(-1, "1=9.1")
			m.DeviceID = device
			if _, err := f.send(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.expect(rerun.Fulfilled, "1:1=9.1") // the value of the other analyser, once
	end()
	f.Clock.Advance(rerun.RememberFor - time.Second)
	sent := f.expect(rerun.Normal).Sent
	if r := f.say(-1, "1=9.1"); !r.Duplicate || r.Flag != rerun.Normal {
		t.Errorf("the message again within 30 days: %+v, want a duplicate at flag 0", r)
	}
	if s := f.expect(rerun.Normal); s.Sent != sent {
		t.Errorf("%d messages to the callout service, want %d", s.Sent, sent)
	}
	f.Clock.Advance(2 * time.Second)
	if r := f.say(-1, "1=9.1"); r.Duplicate || r.Flag != rerun.Fulfilled {
		t.Errorf("the message after 30 days: %+v, want flag 4", r)
	}
}

func TestAMessageForARequestAnswersItOnce(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.say(-1, "1=9.1")
	f.ask(1)
	if r := f.say(2, "1=9.1"); r.Duplicate || r.Flag != rerun.Fulfilled {
		t.Errorf("equal values for a request: %+v, want flag 4", r)
	}
	f.say(2, "1=9.2")
	if r := f.say(2, "1=9.1"); !r.Duplicate || r.Flag != rerun.Fulfilled {
		t.Errorf("the first message again: %+v, want a duplicate", r)
	}
	s := f.expect(rerun.Fulfilled, "1:1=9.1", "2:1=9.2")
	if len(s.Values[1].History) != 1 {
		t.Errorf("history %+v, want the first value once", s.Values[1].History)
	}
}

// TestARequestAfterARedrawWaitsForItsOwnValues draws the sample again while a second request is open. The redraw closes
// the rerun without a confirm or an abort.
func TestARequestAfterARedrawWaitsForItsOwnValues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1)
	f.say(1, "1=9.1")
	f.ask(1)
	f.Set(storetest.Report, "sampleRedrawFlag", 1)
	f.Sweep()
	f.Set(storetest.Report, "sampleRedrawFlag", 0)
	f.Set(storetest.Report, "sampleId", "S-2")
	number, err := f.Ask(t, storetest.Report, 3, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want receive.Result
	}{
		{"1=9.2 3=4.2", receive.Result{Accepted: []int{3}, Rejected: []int{1}, Pending: []int{8}, Flag: rerun.Requested}},
		{"8=5", receive.Result{Accepted: []int{8}, Pending: []int{}, Flag: rerun.Fulfilled}},
	} {
		m := message(number, c.text)
		m.SampleID = "S-2"
		got, err := f.send(m)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", c.text, err, diff)
		}
	}
}

func TestWhatCannotBeAccepted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.refused(message(1, "1=13.5"), receive.ErrNoRequest)
	f.refused(message(-1, "99=13.5"), receive.ErrNothing)
	for _, sample := range []string{"", "S-2", "s-1"} {
		m := message(-1, "1=13.5")
		m.SampleID = sample
		f.refused(m, receive.ErrSample)
	}
	f.ask(1)
	f.refused(message(2, "1=13.5"), receive.ErrNoRequest)
	m := message(1, "1=13.5")
	m.SampleID = "S-2"
	f.refused(m, receive.ErrSample)
	foreign := message(1, "1=13.5")
	foreign.ReportID = storetest.ForeignReport
	f.refused(foreign, rerun.ErrNoReport)
	f.expect(rerun.Requested)
	f.Set(storetest.Report, "manualSampleId", "M-1")
	m.SampleID = "M-1"
	if _, err := f.send(m); err != nil {
		t.Fatal(err)
	}
	f.expect(rerun.Fulfilled, "1:1=13.5")
}

func TestARequestOfAnotherProgramTakesValues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1)
	// Documents of other programs have no commit marker in the log and no written_by.
	f.Exec("DELETE FROM ActivityLog")
	f.refused(message(1, "1=13.5"), receive.ErrNoRequest)
	f.Disown()
	if r := f.say(1, "1=13.5"); r.Flag != rerun.Fulfilled {
		t.Fatalf("unexpected result %+v", r)
	}
}

// TestNoCompletionIsLost delivers messages about many reports, and many parts of one report, concurrently. Each rerun
// must be completed.
func TestNoCompletionIsLost(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const reports, parts = 50, 16
	var indices []int
	for i := range parts {
		indices = append(indices, 100+i)
		f.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 100 + i, Order: i, Name: "p"})
	}
	scope := storetest.Scope(t, 12)
	for id := int64(20_000); id < 20_000+reports+1; id++ {
		f.AddReport(id)
		if _, err := f.Request.Request(t.Context(), scope, request.Command{ReportID: id, Type: rerun.Manual,
			Requested: indices}); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	errs := make(chan error, reports+2*parts)
	deliver := func(report int64, text string) {
		m := message(1, text)
		m.ReportID = report
		_, err := f.Receive.Receive(t.Context(), scope, m)
		errs <- err
	}
	var all strings.Builder
	for _, index := range indices {
		fmt.Fprintf(&all, "%d=1.5 ", index)
		for range 2 { // every part is delivered twice
			wait.Go(func() { deliver(20_000+reports, fmt.Sprintf("%d=1.5", index)) })
		}
	}
	for id := range int64(reports) {
		wait.Go(func() { deliver(20_000+id, all.String()) })
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for id := int64(20_000); id < 20_000+reports+1; id++ {
		if s := f.State(id); s.Flag != rerun.Fulfilled || len(s.Values) != parts {
			t.Fatalf("report %d: flag %d, %d values", id, s.Flag, len(s.Values))
		}
	}
	if f.Counts.Of("fulfilled") != reports+1 {
		t.Errorf("%d completions counted", f.Counts.Of("fulfilled"))
	}
	t.Logf("%d reports and %d messages of one report at once: all %d are fulfilled", reports, 2*parts, reports+1)
}

// dying are reports whose transactions end before the commit.
type dying struct{ request.Reports }

func (d dying) Change(ctx context.Context, scope authn.LabScope, id int64, wants rerun.Wants,
	decide func(rerun.Facts) (rerun.Change, error),
) error {
	return d.Reports.Change(ctx, scope, id, wants, func(f rerun.Facts) (rerun.Change, error) {
		_, err := decide(f)
		return rerun.Change{}, errors.Join(err, errBroken)
	})
}

// TestAWholeProfileAfterACrashCountsWhatIsThere stores a requested value without its commit. The next message has as
// many values as were requested, but only one of these.
func TestAWholeProfileAfterACrashCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1, 3)
	if _, err := f.On(dying{f.Reports}, f.Documents, f.AtOnce()).Say(t, message(1, "1=7.9")); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	if r := f.say(1, "3=4.2 8=5"); len(r.Pending) != 0 {
		t.Errorf("pending %v, want nothing", r.Pending)
	}
	f.expect(rerun.Fulfilled, "1:1=7.9", "1:3=4.2")
}

// broken is a document store in which writes fail.
type broken struct{ storetest.Documents }

var errBroken = errors.New("the document store does not respond")

func (broken) Write(context.Context, authn.LabScope, rerun.Writes) error { return errBroken }

func TestAnAbsentDocumentStoreFailsTheMessage(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.ask(1)
	_, err := f.On(f.Reports, broken{f.Documents}, f.AtOnce()).Say(t, message(1, "1=13.5"))
	if !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	f.expect(rerun.Requested)
}
