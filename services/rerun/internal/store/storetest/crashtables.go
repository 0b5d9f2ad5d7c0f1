package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// play is one operation on a report that earlier operations prepared.
type play struct {
	name    string
	prepare []Act
	act     Act
	check   func(happened bool, s State) error
	again   bool // the caller repeats it after the crash, as instruments do
}

// Act is an operation on a report.
type Act func(b *Bench, c Cases, report int64) error

var asha = authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}

// Ask requests a rerun of the indices.
func Ask(indices ...int) Act {
	return func(b *Bench, c Cases, report int64) error {
		_, err := c.Request.Request(b.T.Context(), Scope(b.T, 12),
			request.Command{ReportID: report, Type: rerun.Manual, Requested: indices, Actor: asha})
		return err
	}
}

// Say sends values of an instrument: "1=13.5 3=4.2".
func Say(number int, text string) Act {
	return func(b *Bench, c Cases, report int64) error {
		_, err := c.Receive.Receive(b.T.Context(), Scope(b.T, 12), message(report, number, text))
		return err
	}
}

func message(report int64, number int, text string) receive.Command {
	m := receive.Command{ReportID: report, Number: number, SampleID: "S-1", DeviceID: "xn", DeviceName: "XN",
		RerunType: "manual_rerun", Actor: asha}
	for field := range strings.FieldsSeq(text) {
		var r receive.Reading
		_, _ = fmt.Sscanf(field, "%d=%s", &r.Index, &r.Value)
		m.Readings = append(m.Readings, r)
	}
	return m
}

func confirm(b *Bench, c Cases, report int64) error {
	return c.Closing.Confirm(b.T.Context(), Scope(b.T, 12), closing.Confirmation{ReportID: report, Actor: asha,
		Rows: []closing.Row{{Result: rerun.Result{Index: 1, Value: "13.5"}}, {Result: rerun.Result{Index: 3, Value: "4.2"}}}})
}

func abort(b *Bench, c Cases, report int64) error {
	return c.Closing.Abort(b.T.Context(), Scope(b.T, 12), report, asha)
}

func plays() []play {
	stored := func(flag rerun.Flag, values ...string) func(bool, State) error {
		return func(_ bool, s State) error {
			var got []string
			for _, v := range s.Values {
				got = append(got, fmt.Sprintf("%d:%d=%s", v.Number, v.Index, v.Value))
			}
			if s.Flag != flag || fmt.Sprint(got) != fmt.Sprint(values) {
				return fmt.Errorf("flag %d, values %v, want %d and %v", s.Flag, got, flag, values)
			}
			return nil
		}
	}
	requested := func(before rerun.Flag, earlier int) func(bool, State) error {
		return func(happened bool, s State) error {
			flag, records := before, earlier
			if happened {
				flag, records = rerun.Requested, earlier+1
			}
			if s.Flag != flag || len(s.Records) != records || len(s.Log[activitylog.RerunRequested]) != countRequests(s,
				records) {
				return fmt.Errorf("flag %d, %d records, want %d and %d", s.Flag, len(s.Records), flag, records)
			}
			return nil
		}
	}
	return []play{
		{name: "request", act: Ask(1, 3), check: requested(rerun.Normal, 0)},
		{name: "request beside one that waits", prepare: []Act{Ask(8), Say(-1, "1=9")}, act: Ask(1, 3),
			check: requested(rerun.Fulfilled, 2)},
		{name: "new, a part", prepare: []Act{Ask(1, 3, 8)}, act: Say(1, "1=13.5 3=4.2"), again: true,
			check: stored(rerun.Requested, "1:1=13.5", "1:3=4.2")},
		{name: "new, the last part", prepare: []Act{Ask(1, 3, 8), Say(1, "8=5")}, act: Say(1, "1=13.5 3=4.2"), again: true,
			check: stored(rerun.Fulfilled, "1:1=13.5", "1:8=5", "1:3=4.2")},
		{name: "new, all at once", prepare: []Act{Ask(1, 3)}, act: Say(1, "1=13.5 3=4.2"), again: true,
			check: stored(rerun.Fulfilled, "1:1=13.5", "1:3=4.2")},
		{name: "new, a correction", prepare: []Act{Ask(1, 3), Say(1, "1=13.5 3=4.2")}, act: Say(1, "1=14.0 3=4.2"),
			again: true,
			check: stored(rerun.Fulfilled, "1:1=14.0", "1:3=4.2")},
		{name: "new, on its own", act: Say(-1, "1=13.5 3=4.2"), again: true,
			check: stored(rerun.Fulfilled, "1:1=13.5", "1:3=4.2")},
		{name: "new, on its own at flag 3", prepare: []Act{Ask(8)}, act: Say(-1, "1=13.5 3=4.2"), again: true,
			check: stored(rerun.Fulfilled, "2:1=13.5", "2:3=4.2")},
		{name: "confirm", prepare: []Act{Ask(1, 3), Say(1, "1=13.5 3=4.2")}, act: confirm,
			check: func(happened bool, s State) error {
				return ended(happened, s, activitylog.RerunValuesConfirmed, "13.5", true)
			}},
		{name: "abort", prepare: []Act{Ask(1, 3), Say(1, "1=13.5 3=4.2")}, act: abort,
			check: func(happened bool, s State) error {
				return ended(happened, s, activitylog.RerunCancelled, "13.1", false)
			}},
	}
}

// countRequests is the number of markers that records should have: repetitions have theirs under 979.
func countRequests(s State, records int) int {
	for _, r := range s.Records {
		if r.Type == rerun.ByAnalyser {
			records--
		}
	}
	return records
}

// ended checks that a closing happened wholly or not at all.
func ended(happened bool, s State, category activitylog.Category, value string, confirmed bool) error {
	if !happened {
		if s.Flag != rerun.Fulfilled || len(s.Values) != 2 || len(s.Records) != 1 || s.Present["0/1"] != "13.1" ||
			len(s.Log[category]) != 0 || s.Outbox != 0 || !s.Signed {
			return fmt.Errorf("it did not happen, but %+v", s)
		}
		return nil
	}
	if s.Flag != rerun.Normal || len(s.Values)+len(s.Records) != 0 || s.Present["0/1"] != value ||
		len(s.Log[category]) != 1 || (s.Outbox == 1) != confirmed || s.Signed == confirmed {
		return fmt.Errorf("it happened, but %+v", s)
	}
	var snapshot rerun.Snapshot
	if err := json.Unmarshal(s.Log[category][0], &snapshot); err != nil || len(snapshot.RerunValues) != 2 ||
		snapshot.RerunNumber != 1 {
		return fmt.Errorf("archive %s: %w", s.Log[category][0], err)
	}
	return nil
}

// CrashTables kills the process before every step of every operation, or of the named ones. The sweeper then finds a
// report that is as if the operation had happened wholly or not at all; an instrument that sends its message again,
// before or after the sweeper came, ends with its values stored once.
func CrashTables(t *testing.T, open Open, named ...string) {
	t.Helper()
	all := plays()
	if len(named) > 0 {
		all = slices.DeleteFunc(all, func(p play) bool { return !slices.Contains(named, p.name) })
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := NewBenchOn(t, open)
			var table strings.Builder
			fmt.Fprintf(&table, "\n%-32s %-22s %-34s %s", "operation", "dies before", "left behind", "after the sweeper")
			for n := 1; ; n++ {
				at := crash(b, p, n, false, &table)
				if at == "" {
					break
				}
				if p.again {
					crash(b, p, n, true, nil)
				}
			}
			t.Log(table.String())
		})
	}
}

// report makes a fresh report of sample S-1 with a signed value.
func report(b *Bench, id int64) {
	row := Row(id)
	row.Signed, row.Results = true, []rerun.Result{{Index: 1, Value: "13.1"}}
	b.Fixture.Put(row)
}

// crash plays p and kills it before step n. It returns the step, "" when there was none.
func crash(b *Bench, p play, n int, atOnce bool, table *strings.Builder) string {
	b.T.Helper()
	id := 10_000 + int64(2*n)
	if atOnce {
		id++
	}
	report(b, id)
	sound := b.Cases(nil)
	for _, prepare := range p.prepare {
		if err := prepare(b, sound, id); err != nil {
			b.T.Fatal(err)
		}
	}
	process := &Crashing{DieBefore: n}
	err := p.act(b, b.Cases(process), id)
	at := process.Died()
	if err != nil && at == "" {
		b.T.Fatal(err)
	}
	left := b.State(id)
	happened := err == nil
	if err != nil && !errors.Is(err, ErrDead) {
		b.T.Fatalf("died before %s, but the error is %v", at, err)
	}
	if p.again && atOnce {
		repeat(b, p, id)
	}
	b.Sweep()
	swept := b.State(id)
	if p.again && !atOnce {
		repeat(b, p, id)
	}
	final := b.State(id)
	if err := errors.Join(p.check(happened, final), consistent(final)); err != nil {
		b.T.Errorf("%s, dead before %s (%v): %v", p.name, at, atOnce, err)
	}
	if table != nil {
		if at == "" {
			at = "– (it lives)"
		}
		fmt.Fprintf(table, "\n%-32s %-22s %-34s %s", p.name, at, describe(left), describe(swept))
	}
	return process.Died()
}

// repeat is the message again, twice: it changes nothing the second time.
func repeat(b *Bench, p play, id int64) {
	b.T.Helper()
	for range 2 {
		if err := p.act(b, b.Cases(nil), id); err != nil {
			b.T.Fatalf("%s again: %v", p.name, err)
		}
	}
}

func describe(s State) string {
	cached := 0
	if s.Cached {
		cached = 1
	}
	return fmt.Sprintf("flag %d, %d records, %d values, hash %d", s.Flag, len(s.Records), len(s.Values), cached)
}

// consistent holds for every report that no one works on.
func consistent(s State) error {
	active := 0
	for _, r := range s.Records {
		if !r.Active {
			continue
		}
		active++
		if s.Flag == rerun.Requested && len(r.Pending(s.Values)) == 0 {
			return fmt.Errorf("flag %d, but the request has all its values: %+v", s.Flag, r)
		}
	}
	switch {
	case s.Cached != s.Flag.Open():
		return fmt.Errorf("flag %d, cached %v", s.Flag, s.Cached)
	case s.Flag == rerun.Normal && len(s.Records)+len(s.Values) != 0:
		return fmt.Errorf("documents of a closed rerun: %+v %+v", s.Records, s.Values)
	case s.Flag == rerun.Requested && active != 1, active > 1:
		return fmt.Errorf("flag %d, %d requests hold the slot", s.Flag, active)
	}
	return nil
}
