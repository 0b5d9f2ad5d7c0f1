package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

func ledgerCorrectedValueReturns(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	s.requestRerun()
	s.measured("4.2")
	s.confirmed("4.2")
	await.True(t, "the correction", func() bool { return s.find(boardOf(t, ledgerUser).Corrected) != nil })
	s.want(isDone)
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.inbox(inNorth, withdrawnTitle, correctedTitle)
	s.requestRerun()
	s.measured("7.9")
	s.confirmed("7.9")
	s.awaits("7.9 again is news", isPending)
	s.onBoard("open")
	if s.opened().DueAt == nil {
		t.Error("it has no deadline")
	}
	s.inbox(drNorth, withdrawnTitle, correctedTitle, noticeTitle)
	s.called()
	s.onBoard()
	s.want(isDone)
}

func ledgerSuppressedCall(t *testing.T) {
	defer ledgerSettings(t, `{"repeat_within_hours":24}`)()
	first := fresh(t, "7.2")
	first.called()
	similar := first.again("7.0")
	similar.want(isAbnormal)
	similar.inbox(drNorth)
	records := call(t, ledgerUser, "GET", fmt.Sprintf("/report/%d/critical/records", similar.bill), "").body
	if !strings.Contains(records, `"suppressed":[{"critical_parameters":[{"value":7,`) || !strings.Contains(records, "within 24 hours") {
		t.Errorf("records do not say what is suppressed: %s", records)
	}

	normal := fresh(t, "7.2") // a normal value in between
	normal.called()
	normal.again("4.1").want(isNormal)
	news := normal.again("7.0")
	news.want(isPending)
	news.inbox(drNorth, noticeTitle)

	other := fresh(t, "7.2") // another clinic was not informed
	other.called()
	moved := unseeded(t)
	moved.patient = other.patient
	moved.seed("7.0")
	moved.toSouth()
	moved.judge()
	moved.want(isPending)
	moved.inbox(drSouth, noticeTitle)
	moved.inbox(inSouth, noticeTitle)
	moved.inbox(drNorth)

	first.becomes("4.2") // the called value was wrong
	similar.awaits("the call that justified it was wrong", isPending)
	similar.inbox(drNorth, noticeTitle)
	similar.onBoard("open")
}

func ledgerTextOnNoList(t *testing.T) {
	for _, text := range []string{"Positive for Gram-negative bacilli", "Growth of E. coli", "Postive", "+ve", "seven"} { //nolint:misspell // as typed
		s := unseeded(t)
		s.test = ledgerCulture
		s.seed(text)
		s.judge()
		s.onBoard("unclear")
	}
	critical := unseeded(t)
	critical.test = ledgerCulture
	critical.seed("POSITIVE.")
	critical.judge()
	critical.want(isPending)

	unreadable := fresh(t, "Haemolysed")
	unreadable.onBoard("unclear")
	waits := fresh(t, "7.9")
	waits.becomes("Haemolysed")
	waits.want(isPending)
	waits.onBoard("open", "unclear")
	called := fresh(t, "7.9")
	called.called()
	called.becomes("See comment, sample lysed")
	called.inbox(drNorth, withdrawnTitle, correctedTitle)
	called.logged("cannot be read any more", map[string]any{"corrected": true, "reason": "unreadable"})
	called.onBoard("unclear", "corrected")
}

func ledgerResultOfAnotherPatient(t *testing.T) {
	dismissed := fresh(t, "7.9") // a called report is dismissed
	dismissed.called()
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", dismissed.report)
	dismissed.judge()
	dismissed.inbox(drNorth, withdrawnTitle, correctedTitle)
	dismissed.inbox(inNorth, withdrawnTitle, correctedTitle)
	dismissed.logged("dismissed", map[string]any{"corrected": true, "notified_persons": "[Dr Anand]"})
	dismissed.onBoard("corrected")

	s := fresh(t, "7.9") // a called report moves to another patient
	s.called()
	right := unseeded(t)
	right.seed("4.1")
	right.toSouth()
	execSQL(t, "UPDATE labReportRelation SET userDetailsId_id = ?, billId_id = ?, orgId_id = 4146, docForId_id = 4192 WHERE id = ?", right.patient, right.bill, s.report)
	s.judgeBill(right.bill)
	s.want(isPending)
	right.delivered()
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.inbox(inNorth, withdrawnTitle, correctedTitle)
	s.inbox(drSouth, noticeTitle)
	s.inbox(inSouth, noticeTitle)
	s.logged("belongs to another patient", map[string]any{"corrected": true})
	if s.opened().DueAt == nil {
		t.Error("the new patient's result has no deadline")
	}

	unread := fresh(t, "7.9") // a report that no one called is dismissed
	unread.delivered()
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", unread.report)
	unread.judge()
	unread.logged("dismissed", map[string]any{"withdrawn": true})
	unread.inbox(drNorth, withdrawnTitle)
	unread.onBoard()

	merged := fresh(t, "7.9")
	merged.called()
	kept := unseeded(t)
	kept.seed("4.1")
	execSQL(t, "UPDATE labReportRelation SET userDetailsId_id = ? WHERE id = ?", kept.patient, merged.report)
	execSQL(t, "UPDATE billing SET userDetailsId_id = ? WHERE id = ?", kept.patient, merged.bill)
	execSQL(t, "UPDATE userDetails SET isDeleted = 1 WHERE id = ?", merged.patient)
	merged.judge()
	merged.want(isDone)
	merged.inbox(drNorth, noticeTitle)
}

func ledgerInputsBesideTheReport(t *testing.T) {
	baby := unseeded(t)
	baby.test = ledgerBilirubin
	baby.seed("19")
	baby.judge()
	baby.want(isNormal)
	execSQL(t, "UPDATE userDetails SET dateOfBirth = CURDATE() - INTERVAL 4 DAY WHERE id = ?", baby.patient)
	baby.awaits("the birth date was corrected", isPending)
	baby.onBoard("open")
	baby.inbox(drNorth, noticeTitle)

	s := fresh(t, "4.1")
	execSQL(t, "UPDATE reportValues SET value = '8.8' WHERE labReportId_id = ?", s.report)
	s.awaits("a value was saved without its report", isPending)

	ranged := unseeded(t)
	ranged.test = ledgerOtherTest
	ranged.seed("6.2")
	ranged.judge()
	ranged.want(isAbnormal)
	execSQL(t, "UPDATE ReportFormatRange SET criticalUpper = 6.0 WHERE id = 416720")
	defer execSQL(t, "UPDATE ReportFormatRange SET criticalUpper = 6.5 WHERE id = 416720")
	ranged.awaits("the limits changed", isPending)
}

func ledgerLimitsAndFormatsChange(t *testing.T) {
	limits := func(upper string) {
		execSQL(t, "UPDATE ReportFormatRange SET criticalUpper = ? WHERE reportFormatId_id IN (41672, 41673)", upper)
	}
	seeded := func(value string) story {
		s := unseeded(t)
		s.test = ledgerOtherTest
		s.seed(value)
		s.judge()
		return s
	}
	limits("6.5")
	s, waits := seeded("6.9"), seeded("6.8") // the limits rise above a called and a waiting value
	s.called()
	limits("7.0")
	execSQL(t, "UPDATE labReportRelation SET isSigned = 1, updatedOn = NOW(6) WHERE id = ?", s.report)
	s.judge()
	s.want(isDone)
	s.logged("limits", map[string]any{"reason": "limits"})
	s.inbox(drNorth, noticeTitle)
	s.inbox(inNorth, noticeTitle)
	s.onBoard()
	waits.judge()
	waits.want(isAbnormal)
	waits.logged("limits", map[string]any{"withdrawn": true, "reason": "limits"})
	waits.onBoard()
	limits("6.5")

	called, pending := seeded("7.9"), seeded("7.9") // the format gets a new id
	called.called()
	execSQL(t, "UPDATE ReportFormat SET id = 41673 WHERE id = 41672")
	execSQL(t, "UPDATE ReportFormatRange SET reportFormatId_id = 41673 WHERE reportFormatId_id = 41672")
	called.becomes("4.2")
	called.inbox(drNorth, withdrawnTitle, correctedTitle)
	called.onBoard("corrected")
	pending.becomes("4.2")
	pending.want(isNormal)
	pending.onBoard()
}

func ledgerValueChangedSinceTheCall(t *testing.T) {
	s := fresh(t, "6.6")
	s.older(10)
	at := time.Now().Add(-30 * time.Second).UTC().Format(time.RFC3339Nano)
	s.value("2.1")
	s.refused(http.StatusConflict, `"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand","notified_at":"`+at+`"`)
	s.want(isPending)
	if got := call(t, ledgerUser, "POST", "/operation/critical-callout", fmt.Sprintf(`{"lab_report_ids":[%d]}`, s.report)).body; got != `{"records":[]}` {
		t.Errorf("the audit has %s", got)
	}
	s.onBoard("open")
}

func ledgerUnknownAge(t *testing.T) {
	baby := unseeded(t)
	baby.test = ledgerBilirubin
	baby.seed("19")
	execSQL(t, "UPDATE userDetails SET dateOfBirth = CURDATE() + INTERVAL 2 DAY WHERE id = ?", baby.patient)
	baby.judge()
	baby.onBoard("unclear")
	execSQL(t, "UPDATE userDetails SET dateOfBirth = CURDATE() - INTERVAL 4 DAY WHERE id = ?", baby.patient)
	execSQL(t, "UPDATE labs SET timezone = 'IST' WHERE id = 41")
	defer execSQL(t, "UPDATE labs SET timezone = 'Asia/Kolkata' WHERE id = 41")
	baby.judge()
	baby.onBoard("unclear")
	execSQL(t, "UPDATE labs SET timezone = 'Asia/Kolkata' WHERE id = 41")
	baby.judge()
	baby.onBoard("open")
}

func ledgerValueBecomesUnreadable(t *testing.T) {
	for _, c := range []struct{ value, reason string }{{"Haemolysed", "unreadable"}, {"", "blank"}, {"---", "blank"}} {
		s := fresh(t, "7.9")
		s.called()
		s.becomes(c.value)
		s.inbox(drNorth, withdrawnTitle, correctedTitle)
		s.logged("A called critical result was corrected", map[string]any{"corrected": true, "reason": c.reason})
		s.saved(`"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand","force":true`, "CALLOUT_DONE")
		s.becomes("4.2")
		s.inbox(drNorth, withdrawnTitle, correctedTitle)
	}
	removed := fresh(t, "7.9")
	removed.called()
	execSQL(t, "DELETE FROM reportValues WHERE labReportId_id = ?", removed.report)
	removed.judge()
	removed.inbox(drNorth, withdrawnTitle, correctedTitle)

	later, control := fresh(t, "7.9"), fresh(t, "4.1") // without an evaluation request: found after three minutes
	later.called()
	later.older(10)
	execSQL(t, "UPDATE reportValues SET value = 'Haemolysed' WHERE labReportId_id = ?", later.report)
	execSQL(t, "UPDATE reportValues SET value = '7.9' WHERE labReportId_id = ?", control.report)
	control.awaits("a value that changed later is found", isPending)
	later.inbox(drNorth, noticeTitle)
	execSQL(t, "UPDATE reportValues SET updated_at = NOW(6) - INTERVAL 4 MINUTE WHERE labReportId_id = ?", later.report)
	await.True(t, "it is taken back", func() bool { return later.find(boardOf(t, ledgerUser).Corrected) != nil })
	later.inbox(drNorth, withdrawnTitle, correctedTitle)

	waits := fresh(t, "7.9") // a value without a call stays pending when it becomes blank
	waits.reads(drNorth)
	waits.becomes("")
	waits.want(isPending)
	waits.inbox(drNorth, noticeTitle, correctedTitle)
	waits.onBoard("open")
}

func ledgerEqualNumber(t *testing.T) {
	s := fresh(t, "7.1")
	s.called()
	s.becomes("7.10")
	s.want(isDone)
	s.inbox(drNorth, noticeTitle)
}

func ledgerUnclearValueIsAnnounced(t *testing.T) {
	s := fresh(t, "Haemolysed")
	s.onBoard("unclear")
	s.inbox(ledgerUser)
	s.older(31)
	await.True(t, "the laboratory is told", func() bool { return slices.Equal(s.titles(ledgerUser), []string{unclearTitle}) })
	s.inbox(drNorth)
	reaped(t)
	s.inbox(ledgerUser, unclearTitle)
	s.becomes("4.1")
	s.onBoard()
}
