package evaluate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

const (
	potassium = storetest.Potassium
	second    = storetest.Second
	index     = storetest.PotassiumIndex
)

func fixture(t *testing.T) *storetest.Fixture {
	t.Helper()
	t.Parallel()
	return storetest.New(t)
}

func call(b *storetest.Fixture) {
	b.T.Helper()
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}}))
}

// TestABlankParameterDoesNotKeepACorrectedReportWaiting corrects a critical potassium while the sodium, which has
// critical limits too, has no result yet. The report must become normal.
func TestABlankParameterDoesNotKeepACorrectedReportWaiting(t *testing.T) {
	b := fixture(t)
	b.AddSodium()
	b.SetValue(potassium, 4, "")
	b.Want("potassium 7.9", b.Enter(potassium, index, "7.9"), "CALLOUT_PENDING")
	b.Want("potassium 4.1", b.Enter(potassium, index, "4.1"), "NORMAL")
	b.Want("records", b.Listed(storetest.Everything), "[]")
	b.Pass(2 * time.Hour)
	b.Want("notices", b.Notices(), "[pending]")
	b.Want("history", b.Lines(potassium), "[Critical result detected"+
		" Critical result withdrawn before a callout: its value is not critical any more]")
}

// TestAValueOfAProfileWithinAProfileIsJudged: the electrolytes belong to the profile 71, which belongs to the profile
// 70. The report is about 70, and its potassium names the electrolytes. Later their limits change.
func TestAValueOfAProfileWithinAProfileIsJudged(t *testing.T) {
	b := fixture(t)
	b.Exec("INSERT INTO AllTests (id, testName, departmentId_id) VALUES (70, 'Health check', 5), (71, 'Metabolism', 5)")
	b.Exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId) VALUES (901, 400, 12, 70, NULL)," +
		" (902, 400, 12, 71, 901), (903, 400, 12, 66, 902)")
	b.Exec("UPDATE labReportRelation SET reportID_id = 70, billingInfoId_id = 901 WHERE id IN (?, ?)", potassium, second)
	for report, value := range map[int64]string{potassium: "7.9", second: "6.4"} {
		b.Exec("INSERT INTO reportValues (labReportId_id, profileTestId, `index`, `order`, value) VALUES (?, 66, ?, ?, ?)",
			report, index, index, value)
	}
	b.Want("potassium 7.9 and 6.4", b.Judged(12, potassium, second), "7001 CALLOUT_PENDING, 7003 ABNORMAL")
	b.Want("the bill's records", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.9]")
	b.Must(b.Sweeper.RunOnce(t.Context()))
	b.Exec("UPDATE ReportFormatRange SET criticalUpper = 6 WHERE reportFormatId_id = 6602")
	b.Must(b.Sweeper.RunOnce(t.Context()))
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("reports that wait after the limits changed", len(open.Items), 2)
}

// TestARerunValueOfAProfileWithinAProfileIsOnTheBoard: the electrolytes belong to the profile 71, which belongs to the
// profile 70 that the report is about. The report has no value yet; the rerun has a critical potassium.
func TestARerunValueOfAProfileWithinAProfileIsOnTheBoard(t *testing.T) {
	b := fixture(t)
	b.Exec("INSERT INTO AllTests (id, testName, departmentId_id) VALUES (70, 'Health check', 5), (71, 'Metabolism', 5)")
	b.Exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId) VALUES (901, 400, 12, 70, NULL)," +
		" (902, 400, 12, 71, 901), (903, 400, 12, 66, 902)")
	b.Exec("UPDATE labReportRelation SET reportID_id = 70, billingInfoId_id = 901 WHERE id = ?", potassium)
	b.Must(b.Evaluate.SetUnconfirmed(t.Context(), storetest.Lab(t, 12), evaluate.Unconfirmed{
		ReportID: potassium, AsOf: 1, ReceivedAt: b.Clock.Now().UnixMicro(),
		Readings: []callout.Reading{{ProfileTestID: 66, Index: index, Order: index, Name: "Potassium", Value: "7.9"}},
	}))
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("critical rerun values", len(open.Unconfirmed), 1)
}

// TestARerunValueOfATestThatIsNotBilledIsOnTheBoard: the rerun value names a test that the bill does not have, as that
// of a profile that was changed since. Its potassium is not critical until the limits change.
func TestARerunValueOfATestThatIsNotBilledIsOnTheBoard(t *testing.T) {
	b := fixture(t)
	b.Exec("INSERT INTO AllTests (id, testName, departmentId_id) VALUES (70, 'Health check', 5)")
	b.Exec("UPDATE labReportRelation SET reportID_id = 70, updatedOn = ? WHERE id = ?", b.Clock.Now(), potassium)
	rerun := func(value string) {
		b.Must(b.Evaluate.SetUnconfirmed(t.Context(), storetest.Lab(t, 12), evaluate.Unconfirmed{
			ReportID: potassium, AsOf: b.Clock.Now().UnixMicro(), ReceivedAt: b.Clock.Now().UnixMicro(),
			Readings: []callout.Reading{{ProfileTestID: 66, Index: index, Order: index, Name: "Potassium", Value: value}},
		}))
	}
	rerun("6.4")
	b.Pass(31 * time.Minute)
	b.Must(b.Sweeper.RunOnce(t.Context()))
	b.Want("notices of 6.4", b.Notices(), "[]")
	b.Exec("UPDATE ReportFormatRange SET criticalUpper = 6 WHERE reportFormatId_id = 6602")
	b.Must(b.Sweeper.RunOnce(t.Context()))
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("critical rerun values", len(open.Unconfirmed), 1)
	b.Want("notices after the limits changed", b.Notices(), "[unconfirmed]")
	rerun("7.9")
	b.Pass(31 * time.Minute)
	b.Want("notices of 7.9", b.Notices(), "[unconfirmed unconfirmed]")
}

// TestANewRerunValueIsOnTheBoardBehindManyOldOnes: no one confirms or aborts reruns, so that a hundred reports have
// critical rerun values from long ago. A new one must still be on the board.
func TestANewRerunValueIsOnTheBoardBehindManyOldOnes(t *testing.T) {
	b := fixture(t)
	b.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleCollected)" +
		" SELECT 8000 + seq, 12, 400, 501, 66, 1 FROM " + mysqltest.Numbers(worklist.MaxUnconfirmed))
	b.Exec("INSERT INTO callout_unconfirmed (lab_report_id, lab_id, as_of, received_at, readings) SELECT 8000 + seq, 12, seq, seq," +
		" '[{\"ProfileTestID\":66,\"Index\":2,\"Order\":2,\"Value\":\"7.9\"}]' FROM " + mysqltest.Numbers(worklist.MaxUnconfirmed))
	now := b.Clock.Now().UnixMicro()
	b.Must(b.Evaluate.SetUnconfirmed(t.Context(), storetest.Lab(t, 12), evaluate.Unconfirmed{
		ReportID: potassium, AsOf: now, ReceivedAt: now,
		Readings: []callout.Reading{{ProfileTestID: 66, Index: index, Order: index, Name: "Potassium", Value: "8.8"}},
	}))
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("listed", len(open.Unconfirmed), worklist.MaxUnconfirmed)
	b.Want("the last one", open.Unconfirmed[worklist.MaxUnconfirmed-1].Report.ID, potassium)
	b.Want("the first one", open.Unconfirmed[0].Report.ID, 8002)
}

// TestACallAboutAPatientWhoseRecordIsGoneIsNotAboutAnother: a called report moves to another patient, and the record of
// the patient who was named in the call is removed from the database. The call counts for the new patient only if it
// named the new patient, as after a merge of two records.
func TestACallAboutAPatientWhoseRecordIsGoneIsNotAboutAnother(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Ravi Kumar": "CALLOUT_PENDING", "Canary Sharma": "CALLOUT_DONE"} {
		t.Run(name, func(t *testing.T) {
			b := fixture(t)
			b.Pending()
			call(b)
			b.Exec("INSERT INTO userDetails (id, labId_id, fullName, gender, age) VALUES (502, 12, ?, 'M', '38 Y')", name)
			b.Exec("UPDATE billing SET userDetailsId_id = 502 WHERE userDetailsId_id = 501")
			b.Exec("UPDATE labReportRelation SET userDetailsId_id = 502 WHERE userDetailsId_id = 501")
			b.Exec("DELETE FROM userDetails WHERE id = 501")
			b.Want("after the move", b.Judged(12, potassium), "7001 "+want)
		})
	}
}

// TestAWaitOfThePreviousVersionIsNotAnnouncedAgain: during an upgrade a process of version 1.0.0 finds a critical value,
// opens the wait and sends the notice, without a ledger. The value is evaluated again, and then corrected.
func TestAWaitOfThePreviousVersionIsNotAnnouncedAgain(t *testing.T) {
	b := fixture(t)
	b.Pending()
	b.Exec("DELETE FROM callout_statement")
	b.Want("evaluated again", b.Judged(12, potassium), "7001 CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending]")
	b.Want("potassium 4.1", b.Enter(potassium, index, "4.1"), "NORMAL")
	b.Want("history", b.Lines(potassium), "[Critical result detected"+
		" Critical result withdrawn before a callout: its value is not critical any more]")
}

// TestAValueThatBecameUnreadableCanBeCalled checks that a call about 7.9 can be recorded after the value was replaced
// by "Haemolysed".
func TestAValueThatBecameUnreadableCanBeCalled(t *testing.T) {
	b := fixture(t)
	b.Enter(potassium, index, "7.9")
	b.Want("haemolysed", b.Enter(potassium, index, "Haemolysed"), "CALLOUT_PENDING")
	b.Want("records", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.9]")
	b.Must(b.Record(save.Callout{Draft: true, ReportIDs: []int64{potassium}}))
	b.Want("attempted", b.Listed(storetest.Everything), "[7001 CALLOUT_ATTEMPTED 7.9]")
	call(b)
	latest, err := b.History.Latest(t.Context(), storetest.Lab(t, 12), storetest.Everything, []int64{potassium})
	b.Must(err)
	told, _ := callout.ReadSnapshot(latest[0].ValuesMeta, potassium)
	b.Want("what was said", told.Parameters[0].RawValue, "7.9")
}

// TestAnUnreadableParameterKeepsTheReportWaiting corrects one of two critical parameters and makes the other
// unreadable. The report must stay pending until that one is corrected too.
func TestAnUnreadableParameterKeepsTheReportWaiting(t *testing.T) {
	b := fixture(t)
	b.AddSodium()
	b.SetValue(potassium, 4, "9")
	b.Enter(potassium, index, "7.9")
	b.Want("one is over", b.Enter(potassium, index, "4.1"), "CALLOUT_PENDING")
	b.Want("the other is unreadable", b.Enter(potassium, 4, "clotted"), "CALLOUT_PENDING")
	b.Want("the first is unreadable too", b.Enter(potassium, index, "?"), "CALLOUT_PENDING")
	b.Want("the other is over", b.Enter(potassium, 4, "4"), "NORMAL")
}

// TestAnUnreadableValueIsOnTheBoard checks that numbers with units or marks around them are read, and that other texts
// are shown on the board and counted once.
func TestAnUnreadableValueIsOnTheBoard(t *testing.T) {
	b := fixture(t)
	b.Exec("UPDATE ReportFormat SET unit = 'mmol/L' WHERE id = 6602")
	for _, value := range []string{"7.9 mmol/L", "7.9*", "7.9 H", "↑7.9", "> 7"} {
		b.Want(value, b.Enter(potassium, index, value), "CALLOUT_PENDING")
		b.Want("corrected", b.Enter(potassium, index, "4"), "NORMAL")
	}
	unclear := func() (list []string) {
		open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
		b.Must(err)
		for _, u := range open.Unclear {
			list = append(list, u.Values[0].Name+" "+u.Values[0].RawValue)
		}
		return list
	}
	for _, value := range []string{"7,9", "7.9 (haem.)", "****", "Haemolysed"} {
		b.Want(value, b.Enter(potassium, index, value), "NORMAL")
		b.Enter(potassium, index, value)
		b.Want("the board", unclear(), "[Potassium "+value+"]")
		b.Enter(potassium, index, "4")
		b.Want("corrected", unclear(), "[]")
	}
	b.Want("counted", b.Count.Unclear, 4)
	for _, value := range []string{"", "---", "TNP"} {
		b.Enter(potassium, index, value)
		b.Want("not done", unclear(), "[]")
	}
}

// TestACalledValueThatWasWrongIsCorrected checks that each person who heard a wrong value is informed once, that the
// call about the correction can be recorded, and that the value is announced again if it returns.
func TestACalledValueThatWasWrongIsCorrected(t *testing.T) {
	b := fixture(t)
	b.Enter(potassium, index, "7.5")
	call(b)
	for range 2 {
		b.Want("corrected", b.Enter(potassium, index, "4.0"), "CALLOUT_DONE")
	}
	b.Want("notices", b.Notices(), "[pending corrected]")
	b.Want("without force", b.Record(save.Callout{ReportIDs: []int64{potassium}}) != nil, true)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, Force: true}))
	latest, err := b.History.Latest(t.Context(), storetest.Lab(t, 12), storetest.Everything, []int64{potassium})
	b.Must(err)
	told, _ := callout.ReadSnapshot(latest[0].ValuesMeta, potassium)
	b.Want("the record", told.Parameters[0].RawValue, "7.5")
	b.Want("is a correction", told.Corrected, true)
	b.Want("history", b.Lines(potassium), "[Critical result detected Critical callout completed"+
		" A called critical result was corrected: its value is not critical any more Critical callout of a correction]")
	b.Want("it was right after all", b.Enter(potassium, index, "7.5"), "CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending corrected pending]")
}

// TestTheBoardShowsAllValuesThatWereWrong calls potassium and then sodium of a report. Both values are corrected at once.
// The correction on the board names both.
func TestTheBoardShowsAllValuesThatWereWrong(t *testing.T) {
	b := fixture(t)
	b.AddSodium()
	b.Enter(potassium, index, "7.5")
	call(b)
	b.Enter(potassium, 4, "9")
	call(b)
	b.SetValue(potassium, 4, "4")
	b.Want("both are wrong", b.Enter(potassium, index, "4.0"), "CALLOUT_DONE")
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("entries", len(open.Corrected), 1)
	var was []string
	for _, p := range open.Corrected[0].Was {
		was = append(was, p.RawValue)
	}
	slices.Sort(was)
	b.Want("the values that were wrong", was, "[7.5 9]")
}

// TestAnAttemptThatWasHeardIsTakenBack: a person on the ward heard 7.5 without read-back, and the value was wrong. The
// audience must be informed. An attempt that reached no one is not taken back.
func TestAnAttemptThatWasHeardIsTakenBack(t *testing.T) {
	b := fixture(t)
	b.Enter(potassium, index, "7.5")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, Draft: true, Outcome: callout.UnableToReach}))
	b.Want("no one was reached", b.Enter(potassium, index, "4.0"), "NORMAL")
	b.Want("notices", b.Notices(), "[pending]")
	b.Enter(potassium, index, "7.5")
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, ReadBack: &no}))
	b.Clock.Advance(time.Minute)
	b.Want("wrong", b.Enter(potassium, index, "4.0"), "NORMAL")
	b.Want("notices", b.Notices(), "[pending pending corrected]")
	open, err := b.Worklist.Open(t.Context(), storetest.Lab(t, 12), storetest.Everything)
	b.Must(err)
	b.Want("the board", open.Corrected[0].Was[0].RawValue, "7.5")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, Force: true}))
	lines := b.Lines(potassium)
	b.Want("history", lines[len(lines)-2:], "["+
		"A called critical result was corrected: its value is not critical any more Critical callout of a correction]")
}

// TestACorrectionAfterAWorseValueThatWasNotCalled corrects a report whose value 7.5 was called and whose later value
// 8.1 was not. One correction is sent, and the call about it can be recorded.
func TestACorrectionAfterAWorseValueThatWasNotCalled(t *testing.T) {
	b := fixture(t)
	b.Enter(potassium, index, "7.5")
	call(b)
	b.Want("worse", b.Enter(potassium, index, "8.1"), "CALLOUT_PENDING")
	b.Want("wrong", b.Enter(potassium, index, "4.0"), "NORMAL")
	b.Want("notices", b.Notices(), "[pending pending corrected]")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, Force: true}))
	b.Want("state", b.Judged(12, potassium), "7001 NORMAL")
}

// TestARowWrittenBackAnnouncesNothingTwice resets the status of a waiting and of a called report, as the core does with
// an outdated row. The status is restored without another notice.
func TestARowWrittenBackAnnouncesNothingTwice(t *testing.T) {
	b := fixture(t)
	b.Pending()
	b.Pass(10 * time.Minute)
	b.SetStatus(potassium, callout.Normal)
	b.Pass(2 * time.Minute)
	b.Want("it waits on", b.Listed(storetest.Everything), "[7001 CALLOUT_PENDING 7.1]")
	b.Want("with its deadline", b.Due(potassium), "level 0, due 09:30:00")
	call(b)
	for _, stale := range []callout.Status{callout.Normal, callout.Pending, callout.Attempted} {
		b.SetStatus(potassium, stale)
		b.Pass(5 * time.Minute)
		b.Must(b.Sweeper.RunOnce(t.Context()))
		b.Want("called as before", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 7.1]")
	}
	b.Pass(2 * time.Hour)
	b.Want("notices", b.Notices(), "[pending]")
}

// TestAReportOfUnknownDoneStateIsJudgedWhenNamed: another program set the report to done without a call. The loops must
// skip it; an evaluation on request must set it to pending.
func TestAReportOfUnknownDoneStateIsJudgedWhenNamed(t *testing.T) {
	b := fixture(t)
	b.SetStatus(potassium, callout.Done)
	b.SetValue(potassium, index, "8.1")
	b.Pass(5 * time.Minute)
	b.Must(b.Sweeper.RunOnce(t.Context()))
	b.Want("in passing", b.Listed(storetest.Everything), "[7001 CALLOUT_DONE 8.1]")
	b.Want("named", b.Judged(12, potassium), "7001 CALLOUT_PENDING")
	b.Want("notices", b.Notices(), "[pending]")
}

// TestARepeatedValueIsSuppressedUnlessItIsWorse checks that a repeated value is not suppressed if the earlier call was
// not read back or was a correction, or if the value is worse.
func TestARepeatedValueIsSuppressedUnlessItIsWorse(t *testing.T) {
	b := fixture(t)
	b.Setting(12, callout.Settings{Pace: storetest.Defaults.Pace, RepeatWithin: 48 * time.Hour})
	b.Enter(potassium, index, "6.6")
	no := false
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, ReadBack: &no}))
	b.Clock.Advance(time.Hour)
	b.Want("the call was not read back", b.Enter(second, index, "6.6"), "CALLOUT_PENDING")
	b.Enter(second, index, "4")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, Force: true}))
	b.Want("it was announced before", b.Enter(second, index, "6.6"), "CALLOUT_PENDING")
	b.Want("further outside", b.Enter(second, index, "9.9"), "CALLOUT_PENDING")
	b.Enter(second, index, "4")
	b.Want("on the other side", b.Enter(second, index, "2.0"), "CALLOUT_PENDING")
	b.Enter(second, index, "4")
	b.Enter(potassium, index, "4")
	b.Must(b.Record(save.Callout{ReportIDs: []int64{potassium}, Force: true}))
	b.Want("the last call was a correction", b.Enter(second, index, "6.55"), "CALLOUT_PENDING")
}
