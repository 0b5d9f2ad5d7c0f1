package callout

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// mutant breaks one rule of Decide by changing its facts or its decision.
type mutant struct {
	name   string
	decide rules
}

// before returns a mutant that changes the facts before Decide.
func before(change func(f *Facts, e *Event)) rules {
	return func(f *Facts, e Event, now time.Time) Decision {
		f.Ledger = slices.Clone(f.Ledger)
		for i := range f.Ledger {
			f.Ledger[i].Parameters = slices.Clone(f.Ledger[i].Parameters)
		}
		f.Finding.Critical = slices.Clone(f.Finding.Critical)
		change(f, &e)
		return Decide(f, e, now)
	}
}

// after returns a mutant that changes the decision of Decide.
func after(change func(f *Facts, d *Decision)) rules {
	return func(f *Facts, e Event, now time.Time) Decision {
		d := Decide(f, e, now)
		change(f, &d)
		return d
	}
}

func eachStatement(f *Facts, change func(s *Statement)) {
	for i := range f.Ledger {
		change(&f.Ledger[i])
	}
}

func dropMessages(drop func(f *Facts, m *Message) bool) rules {
	return after(func(f *Facts, d *Decision) {
		d.Messages = slices.DeleteFunc(d.Messages, func(m Message) bool { return drop(f, &m) })
	})
}

var mutants = []mutant{
	{"a report that moved waits like one that another program opened", after(func(_ *Facts, d *Decision) {
		if d.WaitChange == WaitRenewed {
			wait := *d.Wait
			wait.Adopted, d.Wait = true, &wait
		}
	})},
	{"equal raw text instead of equal number", before(func(f *Facts, _ *Event) {
		eachStatement(f, func(s *Statement) {
			for i := range s.Parameters {
				s.Parameters[i].Value = nil
			}
		})
	})},
	{"corrections go to today's audience only", after(func(f *Facts, d *Decision) {
		for i := range d.Messages {
			if d.Messages[i].Kind == Correct {
				d.Messages[i].Audience = f.Audience
			}
		}
	})},
	{"no new wait after a call that was taken back", before(func(f *Facts, _ *Event) {
		if f.Wait == nil {
			f.Ledger = slices.DeleteFunc(f.Ledger, func(s Statement) bool { return s.Kind == Correction && s.Heard })
			eachStatement(f, func(s *Statement) {
				if s.Kind == Call {
					s.SaidAt = s.SaidAt.Add(time.Hour)
				}
			})
		}
	})},
	{"an attempt that was heard is never taken back", before(func(f *Facts, _ *Event) {
		eachStatement(f, func(s *Statement) { s.Heard = s.Heard && s.Kind != Attempt })
	})},
	{"a notice that was read is never withdrawn", dropMessages(func(_ *Facts, m *Message) bool { return m.Kind == Withdraw && !m.Called })},
	{"statements that were taken back still hold", before(func(f *Facts, _ *Event) {
		eachStatement(f, func(s *Statement) { s.TakesBack = "" })
	})},
	{"an unreadable value counts as not critical", before(func(f *Facts, _ *Event) {
		f.Finding.Unclear = nil
		for i := range f.Finding.Values {
			if f.Finding.Values[i].State == IsUnclear {
				f.Finding.Values[i].State = IsClear
			}
		}
	})},
	{"a value that cannot be read is not on the board", before(func(f *Facts, _ *Event) { f.Finding.Unclear = nil })},
	{"a called value that becomes blank is not taken back", before(func(f *Facts, _ *Event) {
		for i := range f.Finding.Values {
			if f.Finding.Values[i].State == IsBlank {
				f.Finding.Values[i].At = origin.Add(-time.Hour)
			}
		}
	})},
	{"a blank counts at once", before(func(f *Facts, e *Event) { e.Named = true })},
	{"a dismissed report keeps waiting", before(func(f *Facts, _ *Event) { f.Report.Dismissed = false })},
	{"a report of another patient keeps its calls", before(func(f *Facts, _ *Event) {
		eachStatement(f, func(s *Statement) { s.PatientID = f.Report.PatientID })
	})},
	{"a merge of two records is a move", before(func(f *Facts, _ *Event) { f.Merged = nil })},
	{"changed limits are a correction", before(func(f *Facts, _ *Event) {
		for i := range f.Finding.Values {
			if v := &f.Finding.Values[i]; v.State == IsClear {
				v.Value, v.RawValue = nil, "other"
			}
		}
	})},
	{"the repeat policy ignores the audience", before(func(f *Facts, _ *Event) {
		for i := range f.Earlier {
			for j := range f.Earlier[i].Ledger {
				f.Earlier[i].Ledger[j].Audience = f.Audience
			}
		}
	})},
	{"the repeat policy ignores the results in between", before(func(f *Facts, _ *Event) {
		f.Earlier = slices.DeleteFunc(slices.Clone(f.Earlier), func(e Earlier) bool { return len(e.Finding.Critical) == 0 })
	})},
	{"the repeat policy ignores that the value got worse", before(func(f *Facts, _ *Event) {
		worst := 9.9
		for i := range f.Earlier {
			e := &f.Earlier[i]
			e.Finding.Critical, e.Finding.Values = slices.Clone(e.Finding.Critical), slices.Clone(e.Finding.Values)
			for k := range e.Finding.Critical {
				e.Finding.Critical[k].Value, e.Finding.Values[k].Value = &worst, &worst
				for j := range e.Ledger {
					e.Ledger[j].Parameters = slices.Clone(e.Ledger[j].Parameters)
					e.Ledger[j].Parameters[k].Value = &worst
				}
			}
		}
	})},
	{"a value that got worse after the last escalation begins no run", after(func(f *Facts, d *Decision) {
		if d.ClosedBy == "renewed" {
			d.WaitChange, d.Wait, d.Messages, d.Statements = WaitUnchanged, f.Wait, nil, nil
		}
	})},
	{"no reminder follows the last escalation", before(func(f *Facts, _ *Event) { f.Settings.RemindAfter = 0 })},
	{"a deadline is escalated again in every check", after(func(f *Facts, d *Decision) {
		if d.Escalated > 0 {
			d.WaitChange, d.Wait = WaitUnchanged, f.Wait
		}
	})},
	{"a wait stays open after the call", after(func(f *Facts, d *Decision) {
		if d.ClosedBy == "called" {
			d.WaitChange, d.Wait, d.Status = WaitUnchanged, f.Wait, Pending
		}
	})},
	{"an attempt makes the report done", after(func(_ *Facts, d *Decision) {
		if d.Recorded != nil && d.Recorded.Kind == Attempt {
			d.Status = Done
		}
	})},
	{"a call of another program is ignored", before(func(f *Facts, _ *Event) { f.Foreign = nil })},
	{"a notice of two values is withdrawn with the first", after(func(_ *Facts, d *Decision) {
		for i := range d.Messages {
			d.Messages[i].Partly = false
		}
	})},
	{"a new critical parameter of a waiting report is not announced", dropMessagesAndStatements()},
	{"the wait keeps the value that was critical first", after(func(f *Facts, d *Decision) {
		if d.WaitChange == WaitChanged && f.Wait != nil {
			w := *d.Wait
			w.Parameters = f.Wait.Parameters
			d.Wait = &w
		}
	})},
}

func dropMessagesAndStatements() rules {
	return after(func(f *Facts, d *Decision) {
		if f.Wait == nil || d.WaitChange != WaitChanged {
			return
		}
		d.Statements = slices.DeleteFunc(d.Statements, func(s Statement) bool { return s.Kind == Notice })
		d.Messages = slices.DeleteFunc(d.Messages, func(m Message) bool { return m.Kind == Announce })
	})
}

// TestEveryMutantIsCaught checks that the exploration finds a violation for each mutant. With -v, it logs the history
// of each violation.
func TestEveryMutantIsCaught(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			x := explore(startWorlds(), max(4, exploreDepth(t, 4)), m.decide)
			if x.wrong == "" {
				t.Fatalf("%d histories have no violation, want one", x.histories)
			}
			t.Logf("%s\n%s", x.wrong, strings.Join(x.story, "\n"))
		})
	}
}
