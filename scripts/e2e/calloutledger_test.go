package e2e

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// TestCalloutLedger runs scenarios of critical results through the real gateway. Values, patients, bills and formats
// are changed in the database, as the programs that own them do. Waits are shortened by making rows older.
func TestCalloutLedger(t *testing.T) {
	replaceUntilTheEnd(t, "callout", "CALLOUT_SWEEP_INTERVAL", "1s", "CALLOUT_SWEEP_SETTLED", "1s", "CALLOUT_REAP_INTERVAL", "1s")
	seedLedgerLab(t)
	for _, one := range []struct {
		name string
		play func(*testing.T)
	}{
		{"no one can be notified", ledgerNoOneCanBeNotified},
		{"pushes wait for a provider", ledgerPushesWaitForAProvider}, {"the operator switches the type off", ledgerTypeIsSwitchedOff},
		{"a corrected value returns", ledgerCorrectedValueReturns}, {"a suppressed call", ledgerSuppressedCall}, {"a text on no list", ledgerTextOnNoList},
		{"another patient's result", ledgerResultOfAnotherPatient}, {"inputs beside the report", ledgerInputsBesideTheReport}, {"limits and formats change", ledgerLimitsAndFormatsChange},
		{"another value than was said", ledgerValueChangedSinceTheCall},
		{"attempts of one bill", ledgerAttemptsOfOneBill}, {"a split while someone calls", ledgerASplitWhileSomeoneCalls}, {"another audience", ledgerAnotherAudience}, {"an age that is not known", ledgerUnknownAge},
		{"a notice that was read", ledgerNoticeThatWasRead}, {"a value that becomes unreadable", ledgerValueBecomesUnreadable}, {"methods and names", ledgerMethodsAndNames},
		{"worse after the last escalation", ledgerWorseAfterTheLastEscalation}, {"an unconfirmed rerun value", ledgerUnconfirmedRerunValue}, {"a shorter deadline", ledgerShorterDeadline},
		{"names of the call", ledgerNamesOfTheCall}, {"delayed notices", ledgerDelayedNotices}, {"notifications are unavailable", ledgerNotificationsUnavailable},
		{"a test without department", ledgerTestWithoutDepartment}, {"another program calls", ledgerAnotherProgramCalls}, {"reminders", ledgerReminders},
		{"an equal number", ledgerEqualNumber}, {"an unclear value is announced", ledgerUnclearValueIsAnnounced},
	} {
		t.Run(one.name, one.play)
	}
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE labId_id = 41") // ends all waits
	await.True(t, "no report waits and no message is left", func() bool {
		return count(t, "SELECT COUNT(*) FROM callout_episode WHERE lab_id = 41 AND open_report_id IS NOT NULL")+
			count(t, "SELECT COUNT(*) FROM outbox_callout") == 0
	})
}
