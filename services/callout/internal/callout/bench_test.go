package callout

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// benchFacts returns the facts of a report of 20 parameters, of which two are critical, with a ledger of ten
// statements: announced, called, corrected, announced again, attempted, escalated three times and reminded. waits
// selects whether the report is waiting or was called.
func benchFacts(tb testing.TB, waits bool) *Facts {
	tb.Helper()
	low, high := "2", "30"
	critical, err := clinical.NewRange(&low, &high)
	if err != nil {
		tb.Fatal(err)
	}
	chart, formats := Chart{Tests: []int64{66}}, Formats{}
	for i := 1; i <= 20; i++ {
		formats[66] = append(formats[66], Format{
			ID: int64(6600 + i), TestID: 66, Index: i, Order: i, Name: "Parameter " + strconv.Itoa(i),
			Bands: []clinical.Band{{Gender: 'A', Reference: clinical.Reference{Critical: critical}}}, Printed: []Printed{{Critical: "< 2 or > 30"}},
		})
		value := "7." + strconv.Itoa(i)
		if i <= 2 {
			value = "40"
		}
		chart.Readings = append(chart.Readings, Reading{Index: i, Order: i, Value: value, At: origin})
	}
	finding := Judge(chart, formats)
	f := &Facts{
		Report: Report{ID: 1, BillID: 9, PatientID: 1, Status: Attempted}, Audience: audiences[0], Finding: finding, ValuesAt: origin,
		Settings: Settings{Pace: Pace{After: 30 * time.Minute, Most: 3}, ReadBackNeeded: true, RemindAfter: 8 * time.Hour},
	}
	kinds := [10]Kind{Notice, Call, Correction, Notice, Attempt, Escalation, Escalation, Escalation, Reminder, Reminder}
	if !waits {
		kinds[9] = Call
	}
	for i, kind := range kinds {
		s := Statement{
			Key: fmt.Sprintf("%s:%d", kind, f.Ledger.count(kind)+1), Kind: kind, BillID: 9, PatientID: 1, Parameters: finding.Critical, Audience: audiences[0],
			Heard: kind == Call || kind == Attempt, SaidAt: origin.Add(time.Duration(i) * time.Hour),
		}
		if kind == Correction {
			s.TakesBack, s.Heard = f.Ledger[1].Key, true
		}
		f.Ledger = append(f.Ledger, s)
	}
	if !waits {
		f.Report.Status = Done
		return f
	}
	f.Wait = &Episode{
		ID: 1, ReportID: 1, BillID: 9, DetectedAt: origin.Add(3 * time.Hour), Level: 3, Parameters: finding.Critical,
		RemindAt: origin.Add(17 * time.Hour),
	}
	return f
}

// BenchmarkDecide decides about a waiting report and a called one in turn. Nothing has changed in either, as in most
// passes of the loops. `make bench NAME=callout` reports it as decide_per_second.
func BenchmarkDecide(b *testing.B) {
	facts := []*Facts{benchFacts(b, true), benchFacts(b, false)}
	now := origin.Add(12 * time.Hour)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f := facts[i%2]
		if d := Decide(f, Event{}, now); d.Changed() || len(d.Statements) > 0 {
			b.Fatalf("a check of a %v report changed it: %+v, want no change", f.Report.Status, d)
		}
	}
}

// BenchmarkDecideCall decides about a call of a waiting report. The call communicates two values and withdraws five
// notices.
func BenchmarkDecideCall(b *testing.B) {
	f, now := benchFacts(b, true), origin.Add(12*time.Hour)
	call := NewCall{ReadBack: true, Reached: true, Persons: []string{"Dr Rao"}, SaidAt: now}
	b.ReportAllocs()
	for b.Loop() {
		if d := Decide(f, Event{Call: &call}, now); d.Status != Done || len(d.Statements) != 1 {
			b.Fatalf("a call made %v with %d statements, want CALLOUT_DONE with one", d.Status, len(d.Statements))
		}
	}
}

// BenchmarkExplore explores all histories of up to four events. `make bench NAME=callout` reports the states per
// second.
func BenchmarkExplore(b *testing.B) {
	states := 0
	for b.Loop() {
		x := explore(startWorlds(), 4, Decide)
		if x.wrong != "" {
			b.Fatal(x.wrong)
		}
		states += x.states
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}
