package receive_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// facts returns the facts of a report with a flag, with requests for the indices 1 and 3 that are numbered from 1, and
// with stored values.
func facts(flag rerun.Flag, requests int, values ...rerun.Value) receive.Facts {
	f := receive.Facts{Values: values}
	f.Report = rerun.Report{ID: 7001, LabID: 12, Flag: flag, SampleID: "S-1"}
	f.Tests = rerun.Tests{Own: 60, Parameters: []rerun.Parameter{
		{TestID: 60, Index: 1, Name: "K"}, {TestID: 60, Index: 3, Name: "Na"}, {TestID: 61, Index: 3, Name: "Cl"}}}
	for n := range requests {
		f.Ledger.Requests = append(f.Ledger.Requests, rerun.Mark{RerunID: fmt.Sprint("r", n+1), Number: n + 1, Requested: []int{1, 3}})
	}
	return f
}

func with(f receive.Facts, edit func(*receive.Facts)) receive.Facts {
	edit(&f)
	return f
}

func val(number, index int, value string) rerun.Value {
	return rerun.Value{ID: fmt.Sprint(number, index), Number: number, Index: index, Value: value, DeviceID: "xn", CreatedAt: now}
}

func TestAMessageIsDecidedOnTheFacts(t *testing.T) {
	t.Parallel()
	foreign := rerun.Record{ID: "f", Type: rerun.Manual, Number: 2, Requested: []int{1}, Foreign: true}
	for name, c := range map[string]struct {
		facts   receive.Facts
		message receive.Command
		want    string // flag, inserted, replaced, pending; or the reason of the rejection
	}{
		"a part of a request":        {facts(3, 1), message(1, "1=9"), "3 +1 ~0 pending [3]"},
		"the last part":              {facts(3, 1, val(1, 3, "4")), message(1, "1=9"), "4 +1 ~0 pending []"},
		"the same value":             {facts(3, 1, val(1, 1, "9")), message(1, "1=9"), "3 +0 ~0 pending [3]"},
		"another value":              {facts(4, 1, val(1, 1, "8"), val(1, 3, "4")), message(1, "1=9"), "4 +0 ~1 pending []"},
		"a superseded request":       {facts(3, 2), message(1, "1=9 3=4"), "3 +2 ~0 pending []"},
		"the latest of two":          {facts(3, 2), message(2, "1=9 3=4"), "4 +2 ~0 pending []"},
		"no such request":            {facts(3, 1), message(2, "1=9"), "NO_ACTIVE_RERUN"},
		"no open rerun":              {facts(0, 1), message(1, "1=9"), "NO_ACTIVE_RERUN"},
		"an older redraw":            {facts(1, 1), message(1, "1=9"), "NO_ACTIVE_RERUN"},
		"another program's":          {with(facts(3, 1), func(f *receive.Facts) { f.Records = []rerun.Record{foreign} }), message(2, "1=9"), "4 +1 ~0 pending []"},
		"an index without a request": {facts(3, 1), message(1, "9=9"), "INVALID_ARGUMENT"},
		"another sample":             {with(facts(3, 1), func(f *receive.Facts) { f.Report.SampleID = "S-2" }), message(1, "1=9"), "INVALID_ARGUMENT"},
		"a dismissed report":         {with(facts(3, 1), func(f *receive.Facts) { f.Report.Dismissed = true }), message(1, "1=9"), "REPORT_DISMISSED"},
		"on its own":                 {facts(0, 0), message(-1, "1=9 3=4"), "4 +2 ~0 pending []"},
		"on its own while waiting":   {facts(3, 1), message(-1, "1=9"), "4 +1 ~0 pending []"},
		"on its own, a redraw":       {facts(2, 0), message(-1, "1=9"), "SAMPLE_REDRAW_OPEN"},
		"on its own, dismissed":      {with(facts(0, 0), func(f *receive.Facts) { f.Report.Dismissed = true }), message(-1, "1=9"), "REPORT_DISMISSED"},
		"on its own, too often":      {facts(4, 50), message(-1, "1=9"), "TOO_MANY_RERUNS"},
		"of another test": {with(facts(4, 1, val(1, 3, "4")), func(f *receive.Facts) { f.Values[0].TestID, f.Values[0].TestKnown = 61, true }),
			named(message(1, "3=140"), "Na"), "INDEX_OF_ANOTHER_TEST"},
		"of one of two tests":           {facts(4, 1, val(1, 3, "4")), message(1, "3=140"), "INDEX_OF_ANOTHER_TEST"},
		"of one of two tests, the same": {facts(4, 1, val(1, 1, "9"), val(1, 3, "4")), message(1, "3=4"), "4 +0 ~0 pending []"},
		"corrected too often": {with(facts(4, 1, val(1, 1, "8")), func(f *receive.Facts) { f.Values[0].History = make([]rerun.Earlier, 100) }),
			message(1, "1=9"), "TOO_MANY_CORRECTIONS"},
	} {
		d, err := receive.Decide(c.facts, c.message, "12-new", now)
		got := fmt.Sprintf("%d +%d ~%d pending %v", d.Result.Flag, len(d.Writes.Insert), len(d.Writes.Replace), d.Result.Pending)
		if e, ok := apperr.From(err); ok {
			got = e.Reason
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func named(m receive.Command, name string) receive.Command {
	m.Readings[0].Name = name
	return m
}

func TestTheRecordOfAnInterruptedMessageIsTakenOver(t *testing.T) {
	t.Parallel()
	left := rerun.Record{ID: "left", Type: rerun.ByAnalyser, Number: 2, SampleID: "S-1", Requested: []int{1, 3}}
	before := facts(4, 1, val(2, 1, "9"))
	before.Records = []rerun.Record{left}
	for name, c := range map[string]struct {
		edit func(*receive.Facts)
		want string // id and number of a new record, if any; number of inserted values
	}{
		"as it was left":        {func(*receive.Facts) {}, " 1"},
		"with another value":    {func(f *receive.Facts) { f.Values[0].Value = "8" }, "12-new/3 2"},
		"committed":             {func(f *receive.Facts) { f.Ledger.Repetitions = []rerun.Mark{{RerunID: "left", Number: 2}} }, "12-new/3 2"},
		"archived":              {func(f *receive.Facts) { f.Archived = map[string]bool{"left": true} }, "12-new/3 2"},
		"of another program":    {func(f *receive.Facts) { f.Records[0].Foreign = true }, "12-new/3 2"},
		"for other parameters":  {func(f *receive.Facts) { f.Records[0].Requested = []int{1} }, "12-new/3 2"},
		"of a request's number": {func(f *receive.Facts) { f.Records[0].Type = rerun.Manual }, "12-new/3 2"},
	} {
		f := before
		f.Records, f.Values = append([]rerun.Record(nil), before.Records...), append([]rerun.Value(nil), before.Values...)
		c.edit(&f)
		d, err := receive.Decide(f, message(-1, "1=9 3=4"), "12-new", now)
		got := ""
		if d.Writes.Record != nil {
			got = fmt.Sprintf("%s/%d", d.Writes.Record.ID, d.Writes.Record.Number)
		}
		if got = fmt.Sprint(got, " ", len(d.Writes.Insert)); got != c.want || err != nil {
			t.Errorf("%s: record and values %q, %v; want %q", name, got, err, c.want)
		}
	}
}
