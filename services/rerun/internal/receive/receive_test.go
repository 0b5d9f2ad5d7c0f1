package receive_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// bench is a report with what instruments say about it.
type bench struct {
	*storetest.Bench
	storetest.Cases
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := storetest.NewBench(t)
	return &bench{b, b.Cases(nil)}
}

func (b *bench) ask(indices ...int) {
	b.T.Helper()
	_, err := b.Request.Request(b.T.Context(), storetest.Scope(b.T, 12),
		request.Command{ReportID: storetest.Report, Type: rerun.Manual, Requested: indices, Actor: authn.Actor{Kind: authn.ActorLabUser, ID: 77}})
	if err != nil {
		b.T.Fatal(err)
	}
}

// message reads "1=13.5 3=4.2".
func message(number int, text string) receive.Command {
	m := receive.Command{ReportID: storetest.Report, Number: number, SampleID: "S-1", DeviceID: "xn", DeviceName: "XN",
		RerunType: "manual_rerun",
		Actor:     authn.Platform}
	for field := range strings.FieldsSeq(text) {
		var r receive.Reading
		_, _ = fmt.Sscanf(field, "%d=%s", &r.Index, &r.Value)
		m.Readings = append(m.Readings, r)
	}
	return m
}

func (b *bench) send(m receive.Command) (receive.Result, error) {
	return b.Receive.Receive(b.T.Context(), storetest.Scope(b.T, 12), m)
}

func (b *bench) say(number int, text string) receive.Result {
	b.T.Helper()
	r, err := b.send(message(number, text))
	if err != nil {
		b.T.Fatal(err)
	}
	return r
}

// expect compares flag and stored values, "number:index=value" in the order of the listing.
func (b *bench) expect(flag rerun.Flag, values ...string) storetest.State {
	b.T.Helper()
	s := b.State(storetest.Report)
	got := []string{}
	for _, v := range s.Values {
		got = append(got, fmt.Sprintf("%d:%d=%s", v.Number, v.Index, v.Value))
	}
	if diff := cmp.Diff(append([]string{}, values...), got); diff != "" || s.Flag != flag {
		b.T.Fatalf("flag %d, want %d; values (-want +got):\n%s", s.Flag, flag, diff)
	}
	return s
}

func (b *bench) refused(m receive.Command, want error) {
	b.T.Helper()
	_, err := b.send(m)
	got, _ := apperr.From(err)
	if got == nil || got.Message != want.Error() || got.Kind != apperr.KindOf(want) {
		b.T.Fatalf("error = %v, want %v", err, want)
	}
}

func TestARequestIsFulfilledByTheSetOfItsValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask(1, 3, 8)
	first := b.say(1, "3=4.2 5=1 99=7")
	want := receive.Result{Accepted: []int{3}, Rejected: []int{5, 99}, Pending: []int{1, 8}, Flag: rerun.Requested}
	if diff := cmp.Diff(want, first, ignoreUnexported); diff != "" {
		t.Fatal(diff)
	}
	if r := b.say(1, "3=4.2"); len(r.Pending) != 2 || r.Flag != rerun.Requested {
		t.Fatalf("the same again: %+v", r)
	}
	if r := b.say(1, "8=5 1=13.5"); len(r.Pending) != 0 || r.Flag != rerun.Fulfilled {
		t.Fatalf("%+v", r)
	}
	s := b.expect(rerun.Fulfilled, "1:1=13.5", "1:8=5", "1:3=4.2")
	if !s.Cached || len(s.Log[activitylog.RerunValuesReceived]) != 2 ||
		s.Values[0].ParameterName != "Haemoglobin" || s.Values[0].Order != 1 {
		t.Fatalf("%+v", s)
	}
	b.refused(message(1, "5=1 99=7"), receive.ErrNothing)
}

var ignoreUnexported = cmpopts.IgnoreUnexported(receive.Result{})

func TestAMessageThatIsDeliveredAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask(1, 3)
	for range 3 {
		if r := b.say(1, "1=13.5 3=4.2"); r.Flag != rerun.Fulfilled || len(r.Accepted) != 2 {
			t.Fatalf("%+v", r)
		}
	}
	s := b.expect(rerun.Fulfilled, "1:1=13.5", "1:3=4.2")
	if len(s.Values[0].History) != 0 || len(s.Log[activitylog.RerunValuesReceived]) != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestAnotherValueReplacesAndKeepsTheOld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask(1, 3)
	b.say(1, "1=13.5")
	b.say(1, "1=14.0")
	other := message(1, "1=14.0")
	other.DeviceID = "another"
	if _, err := b.send(other); err != nil {
		t.Fatal(err)
	}
	s := b.expect(rerun.Requested, "1:1=14.0")
	history := s.Values[0].History
	if len(history) != 2 || history[0].Value != "13.5" || history[1].Value != "14.0" || history[1].DeviceID != "xn" ||
		s.Values[0].DeviceID != "another" {
		t.Fatalf("%+v", s.Values[0])
	}
}

func TestARepetitionOfTheInstrumentIsStoredFromEveryFlag(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.say(-1, "1=9.1 3=4.2 99=1")
	if !first.ByInstrument || first.Flag != rerun.Fulfilled || len(first.Pending) != 0 || len(first.Rejected) != 1 {
		t.Fatalf("%+v", first)
	}
	s := b.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2")
	if !s.Cached || s.Records[0].Type != rerun.ByAnalyser || s.Records[0].Active {
		t.Fatalf("%+v", s)
	}
	b.say(-1, "3=4.2 1=9.1 99=1") // delivered again, in another order
	b.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2")
	b.say(-1, "1=9.2 3=4.2")
	b.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2", "2:1=9.2", "2:3=4.2")
	b.ask(8)
	b.say(-1, "1=9.2 3=4.2") // late delivery of what is stored: the request continues waiting
	b.expect(rerun.Requested, "1:1=9.1", "1:3=4.2", "2:1=9.2", "2:3=4.2")
	b.say(-1, "1=9.3")
	b.expect(rerun.Fulfilled, "1:1=9.1", "1:3=4.2", "2:1=9.2", "2:3=4.2", "4:1=9.3")
	if r := b.say(3, "8=5"); r.Flag != rerun.Fulfilled || len(r.Pending) != 0 {
		t.Fatalf("the request still takes its values: %+v", r)
	}
}

func TestTheNameTellsWhichTestOfASharedIndexIsMeant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Fixture.AddParameter(rerun.Parameter{TestID: 301, Index: 8, Order: 9, Name: "Other"})
	for name, order := range map[string]int{"other": 9, "ESR": 1, "": 1, "unknown": 1} {
		m := message(-1, "8="+fmt.Sprint(order)+name)
		m.Readings[0].Name = name
		if _, err := b.send(m); err != nil {
			t.Fatal(err)
		}
		values := b.State(storetest.Report).Values
		if v := values[len(values)-1]; v.Order != order {
			t.Errorf("%q: order %d, want %d", name, v.Order, order)
		}
	}
}

func TestWhatCannotBeAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refused(message(1, "1=13.5"), receive.ErrNoRequest)
	b.refused(message(-1, "99=13.5"), receive.ErrNothing)
	for _, sample := range []string{"", "S-2", "s-1"} {
		m := message(-1, "1=13.5")
		m.SampleID = sample
		b.refused(m, receive.ErrSample)
	}
	b.ask(1)
	b.refused(message(2, "1=13.5"), receive.ErrNoRequest)
	m := message(1, "1=13.5")
	m.SampleID = "S-2"
	b.refused(m, receive.ErrSample)
	foreign := message(1, "1=13.5")
	foreign.ReportID = storetest.ForeignReport
	b.refused(foreign, rerun.ErrNoReport)
	b.expect(rerun.Requested)
	b.Change(storetest.Report, func(r *memory.Row) { r.ManualSampleID = "M-1" })
	m.SampleID = "M-1"
	if _, err := b.send(m); err != nil {
		t.Fatal(err)
	}
	b.expect(rerun.Fulfilled, "1:1=13.5")
}

func TestASupersededRequestKeepsItsValuesAndCompletesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask(1, 3)
	b.say(-1, "8=1")
	b.ask(3)
	if r := b.say(1, "1=13.5 3=4.2"); r.Flag != rerun.Requested || len(r.Pending) != 0 {
		t.Fatalf("%+v", r)
	}
	if r := b.say(3, "3=4.4"); r.Flag != rerun.Fulfilled {
		t.Fatalf("%+v", r)
	}
	b.expect(rerun.Fulfilled, "1:1=13.5", "1:3=4.2", "2:8=1", "3:3=4.4")
}

func TestARequestOfAnotherProgramTakesValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask(1)
	// What another program wrote has no marker in the log and is not marked as ours.
	b.Change(storetest.Report, func(r *memory.Row) { r.Log = nil })
	b.refused(message(1, "1=13.5"), receive.ErrNoRequest)
	b.Fixture.Disown()
	if r := b.say(1, "1=13.5"); r.Flag != rerun.Fulfilled {
		t.Fatalf("%+v", r)
	}
}

func TestAnInstrumentThatNeverStopsIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 50 {
		b.say(-1, fmt.Sprintf("1=%d", i))
	}
	b.refused(message(-1, "1=99"), receive.ErrTooMany)
	b.Sweep()
	b.expect(rerun.Fulfilled, b.numbered(50)...)
}

func (b *bench) numbered(n int) []string {
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("%d:1=%d", i+1, i))
	}
	return values
}

// TestNoCompletionIsLost lets instruments of many reports, and many parts of one report, arrive at once.
func TestNoCompletionIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const reports, parts = 50, 16
	var indices []int
	for i := range parts {
		indices = append(indices, 100+i)
		b.Fixture.AddParameter(rerun.Parameter{TestID: storetest.Profile, Index: 100 + i, Order: i, Name: "p"})
	}
	scope := storetest.Scope(t, 12)
	for id := int64(20_000); id < 20_000+reports+1; id++ {
		b.Fixture.Put(storetest.Row(id))
		if _, err := b.Request.Request(t.Context(), scope, request.Command{ReportID: id, Type: rerun.Manual,
			Requested: indices}); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	errs := make(chan error, reports+2*parts)
	deliver := func(report int64, text string) {
		m := message(1, text)
		m.ReportID = report
		_, err := b.Receive.Receive(t.Context(), scope, m)
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
		if s := b.State(id); s.Flag != rerun.Fulfilled || len(s.Values) != parts {
			t.Fatalf("report %d: flag %d, %d values", id, s.Flag, len(s.Values))
		}
	}
	if b.Counts.Of("fulfilled") != reports+1 {
		t.Errorf("%d completions counted", b.Counts.Of("fulfilled"))
	}
	t.Logf("%d reports and %d messages of one report at once: all %d are fulfilled", reports, 2*parts, reports+1)
}

func TestAnAbsentDocumentStoreFailsTheMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ask(1)
	_, err := b.Bench.Cases(&storetest.Crashing{DieBefore: 4}).Receive.Receive(t.Context(), storetest.Scope(t, 12),
		message(1, "1=13.5"))
	if !errors.Is(err, storetest.ErrDead) {
		t.Fatalf("error = %v", err)
	}
	b.expect(rerun.Requested)
}
