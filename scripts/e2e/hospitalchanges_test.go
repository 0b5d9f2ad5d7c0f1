package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

func hospitalClinicBefore(t *testing.T) {
	s := fresh(t, "7.9")
	other := person(t)
	s.called()
	s.toSouth()
	s.move(other)
	execSQL(t, "UPDATE userDetails SET orgId_id = 4146 WHERE id = ?", other)
	s.judge()
	s.awaits("the south clinic's patient", isPending)
	name := fmt.Sprint("Ravi ", other)
	for _, session := range []string{inNorth, drNorth} {
		for _, path := range []string{fmt.Sprintf("/report/%d/critical/records", s.bill), fmt.Sprint("/report/bulk/critical-notification/logs?report_ids=", s.report),
			"/operation/critical-callout/open", "/operation/critical-callout/summary", notificationsPath + "all?limit=1000", fmt.Sprintf("/api-v3/sample-rerun/%d", s.report)} {
			got := call(t, session, "GET", path, "")
			if strings.Contains(got.body, name) || strings.Contains(got.body, "South") {
				t.Errorf("%s reads of the other patient at %s: %d %.600s", session, path, got.status, got.body)
			}
		}
	}
	s.called()
}

func hospitalUnconfirmedOfADismissed(t *testing.T) {
	s := fresh(t, "5.9")
	s.requestRerun()
	s.measured("8.9")
	await.True(t, "the unconfirmed value", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) != nil })
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1, updatedOn = NOW(6) WHERE id = ?", s.report)
	await.True(t, "a dismissed report has none", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) == nil })
	execSQL(t, "UPDATE labReportRelation SET dismissed = 0, updatedOn = NOW(6) WHERE id = ?", s.report)
	await.True(t, "it is back", func() bool { return s.find(boardOf(t, ledgerUser).Unconfirmed) != nil })
	s.older(31)
	await.True(t, "the laboratory is told", func() bool { return slices.Contains(s.titles(ledgerUser), unconfirmedTitle) })
	s.rerun("abort", `{}`)
}

func hospitalSwitchedOffWhileTwoWait(t *testing.T) {
	switched := func(off bool) {
		t.Helper()
		if got := call(t, ledgerAdmin, "POST", notificationsPath+"notification-type/bulk", fmt.Sprintf(`{"notification_types":[{"id":2,"is_disabled":%t}]}`, off)); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	back := stopNotifications(t)
	defer back()
	called, waits, moved := judged(t, "7.9"), judged(t, "7.8"), judged(t, "7.7")
	back()
	switched(true)
	defer switched(false)
	called.called()
	moved.toSouth()
	moved.judge()
	waits.delivered()
	moved.delivered()
	switched(false)
	await.True(t, "the doctor is told", func() bool { return slices.Contains(waits.titles(drNorth), noticeTitle) })
	await.True(t, "the other doctor is told", func() bool { return slices.Contains(moved.titles(drSouth), noticeTitle) })
	called.inbox(drNorth)
	waits.inbox(drNorth, noticeTitle)
	moved.inbox(drNorth)
	waits.called()
	moved.called()
}

func hospitalConfirmedThenDeath(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	s.requestRerun()
	s.measured("4.4")
	s.confirmed("4.4")
	for _, service := range []string{"rerun", "callout", "notifications"} {
		if err := stack.Kill(service); err != nil {
			t.Fatal(err)
		}
	}
	for _, service := range []string{"notifications", "callout", "rerun"} {
		change := map[string]string(nil)
		if service == "callout" {
			change = map[string]string{"CALLOUT_SWEEP_INTERVAL": "1s", "CALLOUT_SWEEP_SETTLED": "1s", "CALLOUT_REAP_INTERVAL": "1s"}
		}
		startReached(t, service, change)
	}
	await.True(t, "the doctor is told once", func() bool { return slices.Contains(s.titles(drNorth), correctedTitle) })
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.want(isDone)
	s.once()
}

func hospitalTakenApartAgain(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	into := person(t)
	execSQL(t, "UPDATE userDetails SET fullName = (SELECT fullName FROM (SELECT * FROM userDetails) u WHERE u.id = ?), gender = 'Female', dateOfBirth = '1984-02-11' WHERE id = ?", s.patient, into)
	s.move(into)
	s.judge()
	s.want(isDone)
	s.move(s.patient)
	s.judge()
	s.want(isDone)
	s.inbox(drNorth, noticeTitle)

	w := fresh(t, "7.9") // open during the merge, called, then separated again
	into = person(t)
	execSQL(t, "UPDATE userDetails SET fullName = ?, gender = 'Female', dateOfBirth = '1984-02-11' WHERE id = ?", fmt.Sprint("Meena ", w.patient), into)
	w.move(into)
	w.judge()
	w.want(isPending)
	w.inbox(drNorth, noticeTitle)
	w.called()
	w.move(w.patient)
	w.judge()
	w.want(isDone)
	w.inbox(drNorth, noticeTitle)
}

func hospitalLaboratoryMovesItsClock(t *testing.T) {
	s := unseeded(t)
	s.test = ledgerBilirubin
	s.seed("16")
	// at collection 14 days old in Kolkata, 13 days in Los Angeles
	execSQL(t, "UPDATE userDetails SET dateOfBirth = '2026-11-01', gender = 'Male' WHERE id = ?", s.patient)
	execSQL(t, "UPDATE labReportRelation SET sampleCollectionTime = '2026-11-14 20:00:00' WHERE id = ?", s.report)
	s.judge()
	s.want(isNormal)
	execSQL(t, "UPDATE labs SET timezone = 'America/Los_Angeles' WHERE id = 41")
	defer execSQL(t, "UPDATE labs SET timezone = 'Asia/Kolkata' WHERE id = 41")
	s.awaits("the newborn is thirteen days old there", isPending)
	s.inbox(drNorth, noticeTitle)
	s.called()
	execSQL(t, "UPDATE labs SET timezone = 'Asia/Kolkata' WHERE id = 41")
	await.True(t, "the limits are told in the history", func() bool { return strings.Contains(fmt.Sprint(s.logs()), "limits") })
	s.inbox(drNorth, noticeTitle)
	s.want(isDone)
}

func hospitalSplitByTwo(t *testing.T) {
	const id = 92911
	seedBill(t, id)
	before := amounts(t, fmt.Sprint("id = ", id))
	paths := []string{fmt.Sprintf(`{"test_ids":[%d1]}`, id), fmt.Sprintf(`{"test_ids":[%d2]}`, id), fmt.Sprintf(`{"test_ids":[%d1,%d2]}`, id, id)}
	family := func() []string {
		return queryTexts(t, "SELECT new_bill_id FROM bill_split_audit WHERE parent_bill_id = ?", id)
	}
	for range 4 {
		var wait sync.WaitGroup
		for _, body := range paths {
			wait.Go(func() {
				_, _ = send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", fmt.Sprint(splitPath, id), body)
			})
		}
		for _, n := range family() {
			wait.Go(func() {
				_, _ = send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", fmt.Sprint(splitPath, n, "/merge"), "")
			})
		}
		wait.Wait()
		in := fmt.Sprint(id)
		for _, n := range family() {
			in += "," + n
		}
		if after := amounts(t, "id IN ("+in+")"); after != before {
			t.Fatalf("%s became %s: %s", before, after, bills(t, id))
		}
		if n := count(t, "SELECT COUNT(*) FROM billingInfo WHERE billId_id IN ("+in+")"); n != 4 {
			t.Fatalf("%d tests", n)
		}
	}
}

func hospitalClaimOfASplit(t *testing.T) {
	s := fresh(t, "7.9")
	execSQL(t, "UPDATE billing SET source = 'Insurance' WHERE id = ?", s.bill)
	execSQL(t, "INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, testAmount) VALUES (?, ?, 41, ?, 500)", s.bill+5, s.bill, s.test)
	split := newBill(t, call(t, ledgerUser, "POST", fmt.Sprint(splitPath, s.bill), fmt.Sprintf(`{"test_ids":[%d]}`, s.bill)))
	old := s.bill
	s.bill = split
	s.saved(`"communication_methods":["call"],"notified_person":"Nurse Mary"`, "CALLOUT_ATTEMPTED")
	if got := call(t, ledgerUser, "POST", fmt.Sprint(splitPath, split, "/merge"), ""); got.status != http.StatusOK {
		t.Fatalf("undone: %d %s", got.status, got.body)
	}
	s.bill = old
	if by, _ := s.attempts(old); by[s.report] == "" && len(by) != 1 {
		t.Errorf("the attempt is not on the bill: %v", by)
	}
	s.becomes("4.2") // Nurse Mary was informed about a bill that no longer exists
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.logged("corrected", map[string]any{"notified_persons": "[Nurse Mary]"})
}
