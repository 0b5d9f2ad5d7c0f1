package rerun_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

func TestEveryFlagAndEventHasTheDocumentedOutcome(t *testing.T) {
	t.Parallel()
	const redraw = rerun.Flag(1)
	for _, c := range []struct {
		from  rerun.Flag
		event rerun.Event
		to    rerun.Flag
		err   error
	}{
		{rerun.Normal, rerun.Request, rerun.Requested, nil},
		{rerun.Normal, rerun.Instrument, rerun.Fulfilled, nil},
		{rerun.Normal, rerun.Complete, rerun.Normal, rerun.ErrNotOpen},
		{rerun.Normal, rerun.Close, rerun.Normal, rerun.ErrNotOpen},
		{rerun.Requested, rerun.Request, rerun.Requested, rerun.ErrAlreadyRequested},
		{rerun.Requested, rerun.Instrument, rerun.Fulfilled, nil},
		{rerun.Requested, rerun.Complete, rerun.Fulfilled, nil},
		{rerun.Requested, rerun.Close, rerun.Normal, nil},
		{rerun.Fulfilled, rerun.Request, rerun.Requested, nil},
		{rerun.Fulfilled, rerun.Instrument, rerun.Fulfilled, nil},
		{rerun.Fulfilled, rerun.Complete, rerun.Fulfilled, nil},
		{rerun.Fulfilled, rerun.Close, rerun.Normal, nil},
		{redraw, rerun.Request, redraw, rerun.ErrRedraw},
		{redraw, rerun.Instrument, redraw, rerun.ErrRedraw},
		{redraw, rerun.Complete, redraw, rerun.ErrRedraw},
		{redraw, rerun.Close, redraw, rerun.ErrRedraw},
	} {
		to, err := c.from.Next(c.event)
		if to != c.to || !errors.Is(err, c.err) {
			t.Errorf("%d on event %d: %d, %v", c.from, c.event, to, err)
		}
	}
}

func TestTypesAreReadInAnyDocumentedSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rerun.Type{
		"Manual": rerun.Manual, "manual": rerun.Manual, "MANUAL_RERUN": rerun.Manual, "auto": rerun.Auto,
		" Auto_Rerun ": rerun.Auto,
		"":             "", "Instrument": "", "manuel": "",
	} {
		if got, ok := rerun.ParseType(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}

func TestPendingIsWhatWasRequestedLessWhatArrivedForTheSameNumber(t *testing.T) {
	t.Parallel()
	r := rerun.Record{Number: 2, Requested: []int{5, 1, 3}}
	values := []rerun.Value{{Number: 2, Index: 1}, {Number: 1, Index: 5}, {Number: 2, Index: 9}}
	if diff := cmp.Diff([]int{5, 3}, r.Pending(values)); diff != "" {
		t.Fatal(diff)
	}
	if n := rerun.HighestNumber([]rerun.Record{{Number: 2}, {Number: 7}, {Number: 1}}); n != 7 {
		t.Fatalf("highest %d", n)
	}
}

func TestAParameterIsThatOfTheNamedTest(t *testing.T) {
	t.Parallel()
	parameters := []rerun.Parameter{{TestID: 302, Index: 8, Name: "first"}, {TestID: 301, Index: 8, Name: "second"}}
	for testID, want := range map[int64]string{301: "second", 302: "first", 0: "first", 999: "first"} {
		if p, ok := rerun.ParameterOf(parameters, testID, 8); !ok || p.Name != want {
			t.Errorf("test %d: %+v %v", testID, p, ok)
		}
	}
	if _, ok := rerun.ParameterOf(parameters, 301, 9); ok {
		t.Error("an index that no test has was found")
	}
}
