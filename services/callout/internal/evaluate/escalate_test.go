package evaluate_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// timeline compares the deadlines and states of the two reports with want.
func timeline(b *storetest.Fixture, what string) {
	b.T.Helper()
	b.T.Logf("%s  %-44s potassium: %-24s haemoglobin: %-24s notices %v", b.Clock.Now().Format("15:04"), what,
		b.Due(storetest.Potassium), b.Due(storetest.Count), b.Notices())
}

// TestALaterResultOfABillIsEscalated: all escalations of a potassium were sent, then the haemoglobin of the same bill
// becomes critical, then the potassium is called. The haemoglobin must get its own full run of escalations.
func TestALaterResultOfABillIsEscalated(t *testing.T) {
	b := fixture(t)
	b.Pending()
	timeline(b, "potassium 7.1")
	b.Pass(90 * time.Minute)
	b.Want("potassium", b.Due(storetest.Potassium), "level 2, last")
	timeline(b, "no one called")
	b.Enter(storetest.Count, storetest.CountIndex, "5")
	b.Want("haemoglobin", b.Due(storetest.Count), "level 0, due 11:00:00")
	timeline(b, "haemoglobin 5")
	b.Pass(5 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	timeline(b, "potassium called")
	b.Pass(25 * time.Minute)
	timeline(b, "haemoglobin waits for half an hour")
	b.Pass(24 * time.Hour)
	timeline(b, "a day later")
	b.Want("haemoglobin", b.Due(storetest.Count), "level 2, last")
	b.Want("notices, with two reminders", b.Notices(), "[pending escalation escalation pending escalation escalation escalation escalation]")
	b.Want("exhausted", b.Count.Exhausted, 2)
	b.Want("what waits", *b.Count.Figures, "{1 1 1 24h30m0s}")
}

// TestReportsOfABillThatAreDueTogetherMakeOneNotice checks that two overdue reports cause one notice for the bill and
// one history entry each.
func TestReportsOfABillThatAreDueTogetherMakeOneNotice(t *testing.T) {
	b := fixture(t)
	b.SetValue(storetest.Potassium, storetest.PotassiumIndex, "7.1")
	b.SetValue(storetest.Count, storetest.CountIndex, "5")
	b.Judged(12, storetest.Potassium, storetest.Count)
	b.Pass(31 * time.Minute)
	b.Want("notices", b.Notices(), "[pending pending escalation]")
	for _, report := range []int64{storetest.Potassium, storetest.Count} {
		b.Want("history", b.Lines(report), "[Critical result detected Critical callout is overdue: escalation 1]")
	}
}

// TestASplitMovesNoDeadline checks that a report that moves to another bill a minute before its deadline is still
// escalated at the deadline.
func TestASplitMovesNoDeadline(t *testing.T) {
	b := fixture(t)
	b.Pending()
	b.Pass(29 * time.Minute)
	b.MoveToBill(storetest.Potassium, storetest.SecondBill)
	b.Pass(2 * time.Minute)
	b.Want("potassium", b.Due(storetest.Potassium), "level 1, due 10:00:00")
	b.MoveToBill(storetest.Potassium, storetest.Bill)
	b.Pass(30 * time.Minute)
	b.Want("and back again", b.Due(storetest.Potassium), "level 2, last")
}

// TestAnOutageMakesOneEscalation checks that the loop sends one escalation after an outage of hours, then one at each
// deadline.
func TestAnOutageMakesOneEscalation(t *testing.T) {
	b := fixture(t)
	b.Pending()
	b.Clock.Advance(3*time.Hour + 10*time.Minute)
	b.Pass(2 * time.Minute)
	b.Want("back", b.Due(storetest.Potassium), "level 1, due 12:30:00")
	b.Pass(time.Hour)
	b.Want("notices", b.Notices(), "[pending escalation escalation]")
}

// TestAWaitWithoutDeadlineGetsOne checks that a wait begun before deadlines were stored gets a deadline.
func TestAWaitWithoutDeadlineGetsOne(t *testing.T) {
	b := fixture(t)
	b.SetStatus(storetest.Potassium, callout.Pending)
	b.Pass(time.Minute)
	b.Want("adopted", b.Due(storetest.Potassium), "level 0, due 09:31:00")
}

// TestANewParameterAfterTheLastEscalationBeginsARun: hours after the last escalation of a profile's potassium, its
// sodium becomes critical. The sodium must be announced and get a full run of escalations. The age of the wait still
// counts from the potassium.
func TestANewParameterAfterTheLastEscalationBeginsARun(t *testing.T) {
	b := fixture(t)
	b.AddSodium()
	b.Pending()
	b.Pass(90 * time.Minute)
	b.Want("potassium", b.Due(storetest.Potassium), "level 2, last")
	b.Want("sodium", b.Enter(storetest.Potassium, storetest.SodiumIndex, "9"), "CALLOUT_PENDING")
	b.Want("both", b.Due(storetest.Potassium), "level 0, due 11:00:00")
	b.Pass(2 * time.Hour)
	b.Want("both", b.Due(storetest.Potassium), "level 2, last")
	b.Want("notices", b.Notices(), "[pending escalation escalation pending escalation escalation]")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	sum, err := b.Worklist.Summary(t.Context(), storetest.Lab(t, 12), storetest.Everything, "", "")
	b.Must(err)
	b.Want("minutes", *sum.Median, 210)
	b.Want("called", sum.Called, 1)
}
