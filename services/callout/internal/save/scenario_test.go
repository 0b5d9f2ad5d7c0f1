package save_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

func pending(t *testing.T) *storetest.Fixture {
	t.Helper()
	t.Parallel()
	b := storetest.New(t)
	b.Pending()
	return b
}

func reason(err error) string {
	if e, ok := apperr.From(err); ok {
		return e.Reason
	}
	return ""
}

// TestACallWithoutReadBackIsAnAttempt checks that such a call is recorded as an attempt, that escalations continue, and
// that the next call ends the wait.
func TestACallWithoutReadBackIsAnAttempt(t *testing.T) {
	b := pending(t)
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, ReadBack: &no}))
	b.Want("state", b.Listed(storetest.Everything), "[7001 CALLOUT_ATTEMPTED 7.1]")
	b.Pass(31 * time.Minute)
	b.Want("notices", b.Notices(), "[pending escalation]")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Want("state", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
	b.Want("history", b.Lines(storetest.Potassium), "[Critical result detected Critical callout attempted: no one read it back"+
		" Critical callout is overdue: escalation 1 Critical callout completed]")
}

func TestALaboratoryMayAllowCallsWithoutReadBack(t *testing.T) {
	b := pending(t)
	b.Setting(12, callout.Settings{Pace: storetest.Defaults.Pace})
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, ReadBack: &no}))
	b.Want("state", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
}

// TestAMessageNeedsNoReadBack checks that an e-mail counts as a call, although it cannot be read back.
func TestAMessageNeedsNoReadBack(t *testing.T) {
	b := pending(t)
	status, err := b.Save.Save(t.Context(), storetest.Lab(t, 12), storetest.Asha, save.Callout{
		BillID: storetest.Bill, ReportIDs: []int64{storetest.Potassium}, Recipients: []string{"Organization"}, Methods: []string{"email"},
	})
	b.Must(err)
	b.Want("state", status, callout.Done)
}

// TestTheMinutesAreMeasuredToTheCall records a call after 45 minutes that was made after 5. The summary must count 5
// minutes.
func TestTheMinutesAreMeasuredToTheCall(t *testing.T) {
	b := pending(t)
	b.Clock.Advance(45 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, NotifiedAt: "2026-11-21T09:05:00Z"}))
	sum, err := b.Worklist.Summary(t.Context(), storetest.Lab(t, 12), storetest.Everything, "", "")
	b.Must(err)
	b.Want("in time", sum.InTime, 1)
	b.Want("minutes", *sum.Median, 5)
}

// TestACallOfOtherValuesIsRefused: the page shows a potassium of 7.1. During the call, the sodium of the same report
// becomes critical. The callout must state every critical value with its current value, so it is rejected until the
// sodium is normal again.
func TestACallOfOtherValuesIsRefused(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	b.AddSodium()
	const format = 6602
	b.Pending()
	potassium := save.ToldValue{ReportID: storetest.Potassium, FormatID: format, RawValue: "7.1"}
	tell := func(values ...save.ToldValue) error {
		return b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, Told: values})
	}
	b.Enter(storetest.Potassium, storetest.SodiumIndex, "9")
	b.Want("the sodium was not told", reason(tell(potassium)), "VALUES_CHANGED")
	b.Want("it waits on", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.1]")
	b.Enter(storetest.Potassium, storetest.SodiumIndex, "4")
	told := potassium
	told.RawValue = "7.9"
	b.Want("another potassium was told", reason(tell(told)), "VALUES_CHANGED")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, Told: []save.ToldValue{told}, Draft: true}))
	b.Must(tell(potassium))
	b.Want("called", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
}

// TestACallAboutAWithdrawnResultCanBeRecorded: a person heard 7.1 without read-back, then the value was corrected. No
// report waits any more, so the call about the correction must be recorded with Force.
func TestACallAboutAWithdrawnResultCanBeRecorded(t *testing.T) {
	b := pending(t)
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, ReadBack: &no}))
	b.Want("corrected", b.Enter(storetest.Potassium, storetest.PotassiumIndex, "4.1"), "NORMAL")
	again := save.Callout{ReportIDs: []int64{storetest.Potassium}}
	b.Want("without force", reason(b.Record(again)), "NOT_CRITICAL")
	again.Force, again.ReadBack = true, &no
	b.Must(b.Record(again))
	latest, err := b.History.Latest(t.Context(), storetest.Lab(t, 12), storetest.Everything, []int64{storetest.Potassium})
	b.Must(err)
	said, _ := callout.ReadSnapshot(latest[0].ValuesMeta, storetest.Potassium)
	b.Want("what was said", said.Parameters[0].RawValue, "7.1")
	b.Want("that it was wrong", said.Corrected, true)
	b.Want("state", b.Judged(12, storetest.Potassium), "7001 NORMAL")
	b.Want("critical again is news", b.Enter(storetest.Potassium, storetest.PotassiumIndex, "7.1"), "CALLOUT_PENDING")
	again.ReportIDs = []int64{storetest.Count}
	b.Want("what never waited", reason(b.Record(again)), "NOT_CRITICAL")
}
