package callout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// receivers describes the messages of a decision: kind, notice, audience, and "quietly" if the laboratory's devices are
// left out.
func receivers(d *Decision) string {
	var lines []string
	how := func(quiet bool) string {
		if quiet {
			return " quietly"
		}
		return ""
	}
	for _, m := range d.Messages {
		switch m.Kind {
		case Announce, Correct:
			doctor := ""
			if m.Audience.DoctorID == 0 {
				doctor = " without doctor"
			}
			lines = append(lines, fmt.Sprintf("%s to %d%s%s", map[MessageKind]string{Announce: "notice", Correct: "correction"}[m.Kind], m.Audience.OrgID, doctor, how(m.Quiet)))
		case Withdraw:
			line := fmt.Sprintf("%s withdrawn as %s", m.Notice, m.Key)
			for _, to := range m.Tell {
				line += fmt.Sprintf(", to %d%s", to.OrgID, how(to.Quiet))
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

func TestDecideWhoIsTold(t *testing.T) {
	t.Parallel()
	now := origin.Add(time.Hour)
	high := findingOf([2]string{"7.9", "140"}, 0).Critical
	said := func(key string, kind Kind, to int, change ...func(*Statement)) Statement {
		s := Statement{Key: key, Kind: kind, PatientID: 1, Parameters: high, Audience: audiences[to], Heard: kind == Call, SaidAt: origin}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	absent := func(s *Statement) {
		p := high[0]
		p.Absent = true
		s.Parameters = []Parameter{p}
	}
	unsent := func(s *Statement) { s.NotSent = true }
	ofAnother := func(s *Statement) { s.PatientID = 2 }
	north, south := audiences[0].OrgID, audiences[1].OrgID
	removed := func() Finding { return Judge(Chart{Tests: []int64{66}}, bandOfLimits[0]) }
	for name, c := range map[string]struct {
		ledger  Ledger
		finding Finding
		waits   bool
		today   int
		doctor  int64 // the doctor of today's bill; 0: the same as in the statement's audience
		event   Event
		want    string
	}{
		"a called value whose row was removed": {
			ledger: Ledger{said("call:1", Call, 0)}, finding: removed(), event: Event{Named: true}, want: fmt.Sprintf("correction to %d", north),
		},
		"a value that was removed before it was called": {
			ledger: Ledger{said("call:1", Call, 0, absent)}, finding: removed(), event: Event{Named: true},
		},
		"a correction to two audiences tells the laboratory once": {
			ledger: Ledger{said("call:1", Call, 0)}, finding: findingOf([2]string{"4.2", "140"}, 0), today: 1,
			want: fmt.Sprintf("correction to %d; correction to %d quietly", north, south),
		},
		"a doctor of both audiences is told once": {
			ledger: Ledger{said("call:1", Call, 0)}, finding: findingOf([2]string{"4.2", "140"}, 0), doctor: audiences[0].DoctorID, today: 1,
			want: fmt.Sprintf("correction to %d; correction to %d without doctor quietly", north, south),
		},
		"a reader of two notices is told once": {
			ledger: Ledger{said("notice:1", Notice, 0), said("notice:2", Notice, 0), said("notice:3", Notice, 1)}, waits: true,
			finding: findingOf([2]string{"4.2", "140"}, 0),
			want: fmt.Sprintf("notice:1 withdrawn as correction:1, to %[1]d; notice:2 withdrawn as correction:1, to %[1]d;"+
				" notice:3 withdrawn as correction:1, to %[2]d quietly, to %[1]d", north, south),
		},
		"a stored notice is not sent again when notices are back": {
			ledger: Ledger{said("notice:1", Notice, 0)}, waits: true, finding: findingOf([2]string{"7.9", "140"}, 0), event: Event{NoticesBack: true},
		},
		"a swallowed notice is": {
			ledger: Ledger{said("notice:1", Notice, 0, unsent)}, waits: true, finding: findingOf([2]string{"7.9", "140"}, 0),
			event: Event{NoticesBack: true}, want: fmt.Sprintf("notice to %d", north),
		},
		"the report moves to another patient with the value of another parameter": {
			ledger: Ledger{said("notice:1", Notice, 0, ofAnother)}, waits: true, finding: findingOf([2]string{"4.2", "118"}, 0), today: 1,
			want: fmt.Sprintf("notice:1 withdrawn as withdrawal:1, to %d; notice to %d", north, south),
		},
	} {
		f := &Facts{
			Report: Report{ID: 1, BillID: 9, PatientID: 1, Status: Done}, Audience: audiences[c.today], Finding: c.finding, Ledger: c.ledger,
			Settings: exploredSettings,
		}
		if c.doctor != 0 {
			f.Audience.DoctorID = c.doctor
		}
		f.Finding.Values = slices.Clone(f.Finding.Values)
		for i := range f.Finding.Values {
			f.Finding.Values[i].At = now.Add(-time.Minute)
		}
		if c.waits {
			f.Report.Status = Pending
			e := Episode{ID: 1, ReportID: 1, BillID: 9, DetectedAt: origin, DueAt: now.Add(time.Hour), Parameters: high, NoticesOff: true}
			f.Wait, f.LastWait = &e, &e
		}
		d := Decide(f, c.event, now.Add(-time.Minute))
		if got := receivers(&d); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAnAttemptAboutAWaitOfAnotherProgram records an attempt about a report that another program set to waiting. The
// wait is adopted and no notice is sent.
func TestAnAttemptAboutAWaitOfAnotherProgram(t *testing.T) {
	t.Parallel()
	f := &Facts{
		Report: Report{ID: 1, BillID: 9, PatientID: 1, Status: Pending}, Audience: audiences[0], Finding: findingOf([2]string{"7.9", "140"}, 0),
		Settings: exploredSettings,
	}
	d := Decide(f, Event{Call: &NewCall{Draft: true, SaidAt: origin}}, origin)
	if d.Refused != Accepted || d.Wait == nil || !d.Wait.Adopted || d.Status != Attempted {
		t.Errorf("%+v, want a wait that was adopted", d)
	}
	if len(d.Messages) != 0 {
		t.Errorf("%d messages, want none: the other program announced it", len(d.Messages))
	}
}

// TestACallAboutAWaitOfAnotherProgramIsNotBeforeTheSample checks that a call dated before the sample is rejected. The
// detection time is unknown, so the sample is the only lower bound.
func TestACallAboutAWaitOfAnotherProgramIsNotBeforeTheSample(t *testing.T) {
	t.Parallel()
	collected := origin.Add(-2 * time.Hour)
	for name, c := range map[string]struct {
		collected, said time.Time
		want            Refusal
	}{
		"years before the sample":               {collected, origin.AddDate(-6, 0, 0), RefusedTooEarly},
		"the day before":                        {collected, collected.Add(-23 * time.Hour), Accepted},
		"after the sample":                      {collected, origin.Add(-time.Hour), Accepted},
		"a sample without a time at all":        {time.Time{}, origin.AddDate(-6, 0, 0), Accepted},
		"a sample of next year, a typing error": {origin.AddDate(1, 0, 0), origin.Add(-time.Minute), Accepted},
		"a sample of tomorrow, a typing error":  {origin.Add(23 * time.Hour), origin.Add(-2 * time.Hour), Accepted},
	} {
		wait := Episode{ID: 1, ReportID: 1, BillID: 9, DetectedAt: origin, Adopted: true}
		f := &Facts{
			Report:   Report{ID: 1, BillID: 9, PatientID: 1, Status: Pending, CollectedAt: c.collected},
			Audience: audiences[0], Finding: findingOf([2]string{"7.9", "140"}, 0), Settings: exploredSettings,
			Wait: &wait, LastWait: &wait,
		}
		d := Decide(f, Event{Call: &NewCall{ReadBack: true, SaidAt: c.said}}, origin)
		if d.Refused != c.want {
			t.Errorf("%s: got refusal %v, want %v", name, d.Refused, c.want)
		}
	}
}
