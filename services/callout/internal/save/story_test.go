package save_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

func pending(t *testing.T) *storetest.Bench {
	t.Helper()
	t.Parallel()
	c := storetest.NewClock()
	b := storetest.NewBench(t, storetest.Memory(t, c), c)
	b.Pending()
	return b
}

// TestACallThatNobodyReadBackStaysAnAttempt: it is recorded, it is escalated on, and the next call ends it.
func TestACallThatNobodyReadBackStaysAnAttempt(t *testing.T) {
	b := pending(t)
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, ReadBack: &no}))
	b.Want("state", b.Listed(storetest.Everything), "[7001 CALLOUT_ATTEMPTED 7.1]")
	b.Pass(31 * time.Minute)
	b.Want("notices", b.Notices(), "[pending escalation]")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}}))
	b.Want("state", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
	b.Want("history", b.Lines(storetest.Potassium), "[Critical result detected Critical callout attempted: nobody read it back"+
		" Critical callout is overdue: escalation 1 Critical callout completed]")
}

// TestALaboratoryMayAllowCallsWithoutReadBack.
func TestALaboratoryMayAllowCallsWithoutReadBack(t *testing.T) {
	b := pending(t)
	b.Setting(12, callout.Settings{Pace: storetest.Pace})
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, ReadBack: &no}))
	b.Want("state", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
}

// TestAMessageNeedsNoReadBack: nobody hears an e-mail, so nobody can repeat it.
func TestAMessageNeedsNoReadBack(t *testing.T) {
	b := pending(t)
	status, err := b.Save.Save(t.Context(), storetest.Lab(t, 12), storetest.Asha, save.Callout{
		BillID: storetest.Bill, ReportIDs: []int64{storetest.Potassium}, Recipients: []string{"Organization"}, Methods: []string{"email"},
	})
	b.Must(err)
	b.Want("state", status, callout.Done)
}

// TestTheMinutesAreMeasuredToTheCall: told after five minutes, written down after forty-five.
func TestTheMinutesAreMeasuredToTheCall(t *testing.T) {
	b := pending(t)
	b.Clock.Move(45 * time.Minute)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, NotifiedAt: "2026-11-21T09:05:00Z"}))
	sum, err := b.Worklist.Summary(t.Context(), storetest.Lab(t, 12), storetest.Everything, "", "")
	b.Must(err)
	b.Want("in time", sum.InTime, 1)
	b.Want("minutes", *sum.Median, 5)
}
