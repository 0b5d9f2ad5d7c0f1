package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// TestHospitalStories runs scenarios of hospitals that involve several areas: patients and samples are exchanged while
// documents, reruns and calls are open, and parts of the platform stop in between.
func TestHospitalStories(t *testing.T) {
	replaceUntilTheEnd(t, "callout", "CALLOUT_SWEEP_INTERVAL", "1s", "CALLOUT_SWEEP_SETTLED", "1s", "CALLOUT_REAP_INTERVAL", "1s")
	seedLedgerLab(t)
	for _, one := range []struct {
		name string
		play func(*testing.T)
	}{
		{"the call that spared another was about someone else", hospitalJustifiedBySomeoneElse},
		{"a document of the patient before", hospitalDocumentOfThePatientBefore},
		{"pushes are paused by an operator", hospitalPushesArePaused},
		{"the sample was drawn again", hospitalSampleDrawnAgain},
		{"an order of a rerun arrives twice", hospitalOrderArrivesTwice},
		{"a split, then the callout dies", hospitalSplitThenDeath},
		{"doctor and clinic are removed", hospitalDoctorAndClinicAreRemoved},
		{"a key on several doors", hospitalKeyOnSeveralDoors},
		{"one message, many hands", hospitalOneMessageManyHands},
		{"the clinic before", hospitalClinicBefore},
		{"an unconfirmed value of a dismissed report", hospitalUnconfirmedOfADismissed},
		{"switched off while two wait", hospitalSwitchedOffWhileTwoWait},
		{"confirmed, then everything dies", hospitalConfirmedThenDeath},
		{"patients are taken apart again", hospitalTakenApartAgain},
		{"the laboratory moves its clock", hospitalLaboratoryMovesItsClock},
		{"split by two, undone by one", hospitalSplitByTwo},
		{"a claim of a report that is split", hospitalClaimOfASplit},
		{"a receiver answers late", hospitalReceiverAnswersLate},
		{"a number was corrected", hospitalNumberWasCorrected},
		{"the removed doctor watches", hospitalRemovedDoctorWatches},
		{"a page of the rerun before", hospitalPageOfTheRerunBefore},
		{"a cancelled bill", hospitalCancelledBill},
		{"merged into the called", hospitalMergedIntoTheCalled},
		{"the laboratory is paused", hospitalLaboratoryIsPaused},
	} {
		t.Run(one.name, one.play)
	}
	execSQL(t, "UPDATE labReportRelation SET dismissed = 1 WHERE labId_id = 41") // ends all waits
	await.True(t, "no report waits and no message is left", func() bool {
		return count(t, "SELECT COUNT(*) FROM callout_episode WHERE lab_id = 41 AND open_report_id IS NOT NULL")+
			count(t, "SELECT COUNT(*) FROM outbox_callout") == 0
	})
}

func (s story) move(patient int) {
	s.Helper()
	execSQL(s.T, "UPDATE billing SET userDetailsId_id = ? WHERE id = ?", patient, s.bill)
	execSQL(s.T, "UPDATE labReportRelation SET userDetailsId_id = ?, updatedOn = NOW(6) WHERE id = ?", patient, s.report)
}

func person(t *testing.T) (id int) {
	t.Helper()
	ledgerStories++
	id = 41_000_000 + 10*ledgerStories
	applyFixture(t, fmt.Sprintf(`{"mysql":{"userDetails":[{"id":%[1]d,"labId_id":41,"orgId_id":4145,"labPatientId":"LED-%[1]d","fullName":"Ravi %[1]d","gender":"Male","dateOfBirth":"1951-07-01"}]}}`, id))
	return id
}

func hospitalJustifiedBySomeoneElse(t *testing.T) {
	defer ledgerSettings(t, `{"repeat_within_hours":24}`)()
	first := fresh(t, "7.2")
	first.called()
	similar := first.again("7.0")
	similar.want(isAbnormal)
	first.move(person(t)) // exchanged tubes: the called value belongs to another person
	similar.awaits("no one was called about this patient", isPending)
	similar.inbox(drNorth, noticeTitle)

	apart := fresh(t, "7.2") // two persons with one name are merged by mistake, then separated
	apart.called()
	other := person(t)
	execSQL(t, "UPDATE userDetails SET fullName = ?, gender = 'Female', dateOfBirth = '1984-02-11' WHERE id = ?", fmt.Sprint("Meena ", apart.patient), other)
	alone := apart.patient
	apart.move(other)
	apart.judge()
	apart.want(isDone)
	apart.patient = other
	later := unseeded(t)
	later.patient = other
	later.seed("7.0")
	execSQL(t, "UPDATE userDetails SET fullName = ? WHERE id = ?", fmt.Sprint("Meena ", alone), other)
	later.judge()
	later.want(isAbnormal)
	apart.move(alone)
	later.awaits("the call was about the other one", isPending)
}

func hospitalDocumentOfThePatientBefore(t *testing.T) {
	report, user, chief := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit", "report_edit_takeover")
	enlist(t, chief, `["report_edit", "report_edit_takeover"]`)
	before, same := person(t), person(t)
	execSQL(t, "UPDATE userDetails SET labId_id = 12, fullName = 'Meena S', gender = 'Female', dateOfBirth = '1984-02-11' WHERE id IN (?, ?)", before, same)
	belongs := func(patient int) {
		execSQL(t, "UPDATE labReportRelation SET userDetailsId_id = ? WHERE id = ?", patient, report)
	}
	belongs(before)
	id, token := openSession(t, user, report, creation)
	saved := mustUpload(t, id, token, savedPair(t, "<w:p>Meena</w:p>")).json(t)
	belongs(same) // two records of one person are merged
	if got := mustUpload(t, id, token, savedPair(t, "<w:p>Meena again</w:p>")); got.status != http.StatusOK {
		t.Errorf("after a merge: %d %s", got.status, got.body)
	}
	belongs(502) // the tubes were exchanged
	refused := func(what string, got answer) {
		t.Helper()
		if got.status != http.StatusConflict || !strings.Contains(got.body, "belongs to another patient") {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	refused("a save", mustUpload(t, id, token, savedPair(t, "<w:p>Meena once more</w:p>")))
	if got := call(t, user, "PUT", fmt.Sprintf("%s/%d", editPath, id), ""); got.status != http.StatusOK {
		t.Fatalf("end: %d %s", got.status, got.body)
	}
	refused("a session that begins with the save", call(t, user, "POST", fmt.Sprintf("%s/%d", editPath, report),
		fmt.Sprintf(`{"template_id":1,"word_s3_filepath":%q}`, saved["word_s3_path"])))
	path := fmt.Sprintf("%s/%d/revisions", editPath, report)
	list := revisionsOf(t, user, path)
	refused("a restoration", call(t, chief, "POST", fmt.Sprintf("%s/%.0f/restore", path, list[len(list)-1]["id"]), ""))
	id, token = openSession(t, user, report, creation)
	if got := mustUpload(t, id, token, savedPair(t, "<w:p>Ravi</w:p>")); got.status != http.StatusOK {
		t.Errorf("a document of today's patient: %d %s", got.status, got.body)
	}
}

func operate(t *testing.T, body string) {
	t.Helper()
	got := callAt(t, stack.Endpoints.TaskqueueAdminPage, "", "POST", "api/pause", body, "Authorization", "Bearer "+queueAdminToken)
	if got.status != http.StatusOK {
		t.Fatalf("pause: %d %s", got.status, got.body)
	}
}

func hospitalPushesArePaused(t *testing.T) {
	const device = `{"token":"hospital-device","platform":"web"}`
	if got := call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/subscribe", device); got.status != http.StatusOK {
		t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	defer call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/unsubscribe", `{"token":"hospital-device"}`)
	before := fresh(t, "7.9") // an open result, whose board shows the state of notices
	paused := func(is bool) {
		t.Helper()
		operate(t, fmt.Sprintf(`{"operator":"e2e","ticket":"story","channel":"push","paused":%t}`, is))
		await.True(t, "notifications knows of the pause", func() bool {
			got := callAt(t, adminURL("notifications"), "", "GET", "/metrics", "")
			return strings.Contains(got.body, `notifications_push_unserved{reason="paused"} 1`) == is
		})
	}
	paused(true)
	resumed := false
	defer func() {
		if !resumed {
			paused(false)
		}
	}()
	waits, called, corrected := fresh(t, "7.9"), fresh(t, "7.8"), fresh(t, "7.7")
	await.Nil(t, "the board shows that messages to phones wait", func() error {
		if off := boardOf(t, ledgerUser).Off; off == nil || off.Reason != "push_waits" {
			return fmt.Errorf("%+v", off)
		}
		return nil
	})
	called.called()
	corrected.becomes("4.2")
	called.delivered()
	corrected.delivered()
	paused(false)
	resumed = true
	await.True(t, "no push waits", func() bool { return count(t, "SELECT COUNT(*) FROM outbox_notifications") == 0 })
	await.True(t, "the push of what waits", func() bool { return pushesOf(waits) > 0 })
	if called, corrected := pushesOf(called), pushesOf(corrected); called+corrected != 0 {
		t.Errorf("%d pushes of a called value and %d of a corrected one", called, corrected)
	}
	await.True(t, "the board says nothing any more", func() bool { return boardOf(t, ledgerUser).Off == nil })
	waits.called()
	before.called()
}

func hospitalSampleDrawnAgain(t *testing.T) {
	s := fresh(t, "5.9")
	s.requestRerun()
	s.measured("8.9") // from a haemolysed tube
	execSQL(t, "UPDATE labReportRelation SET sampleId = ?, sampleCollectionTime = NOW(), updatedOn = NOW(6) WHERE id = ?", fmt.Sprint("NEW-", s.report), s.report)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d/", s.report)
	got := call(t, ledgerUser, "POST", path+"confirm", `{"rerun_confirmed_data":[{"index":2,"order":2,"value":"8.9","parameter_name":"Potassium"}]}`)
	if got.status != http.StatusConflict || !strings.Contains(got.body, "SAMPLE_CHANGED") {
		t.Errorf("confirm of the previous tube's value: %d %s", got.status, got.body)
	}
	s.want(isAbnormal)
	s.rerun("new", fmt.Sprintf(`{"lab_id":41,"sample_id":"NEW-%d","device_id":"AU-1","device_name":"AU480","rerun_type":"manual_rerun","rerun_number":-1,"lab_report_id":%[1]d,"device_data":[{"index":2,"value":"4.4"}]}`, s.report))
	s.confirmed("4.4")
	s.awaits("the present tube's value", isNormal)
}

// hospitalOrderArrivesTwice delivers a rerun order again after the rerun has ended, because the response to the first
// delivery was lost. It must get the first response, and no rerun may be opened.
func hospitalOrderArrivesTwice(t *testing.T) {
	const id = 97911
	newReport(t, id)
	path := fmt.Sprintf("/api-v3/sample-rerun/%d", id)
	if auto := call(t, labSession, "POST", path+"/auto/", lowHaemoglobin); auto.status != 200 {
		t.Fatalf("auto: %d %s", auto.status, auto.body)
	}
	job := outboxJob(t, path+"/request")
	await.True(t, "the request", func() bool { flag, _ := stored(t, id); return flag == 3 })
	accept(t, id, "new", values(id, 1, `{"index":1,"value":"13.1"}`), "Rerun data updated")
	accept(t, id, "confirm", `{"rerun_confirmed_data":[{"profileTestId":0,"value":"13.1","order":1,"index":1,"parameter_name":"Haemoglobin"}]}`, "Rerun data updated")
	late := callAt(t, stack.Endpoints.GatewayInternal, "", "POST", path+"/request",
		`{"type":"auto","rerun_number":"1","requested_parameters":"[1]","is_active":true,"lab_id":12}`,
		"Authorization", "Bearer "+internalToken(t), "X-Is-Internal-Request", "True", "Idempotency-Key", job)
	if late.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the order again: %d %s, want the first answer", late.status, late.body)
	}
	expectStored(t, id, 0)
}

func hospitalSplitThenDeath(t *testing.T) {
	s := fresh(t, "7.9")
	execSQL(t, "UPDATE billing SET source = 'Insurance' WHERE id = ?", s.bill)
	execSQL(t, "INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, testAmount) VALUES (?, ?, 41, ?, 500)", s.bill+5, s.bill, s.test)
	if err := stack.Kill("callout"); err != nil {
		t.Fatal(err)
	}
	split := newBill(t, call(t, ledgerUser, "POST", fmt.Sprint(splitPath, s.bill), fmt.Sprintf(`{"test_ids":[%d]}`, s.bill)))
	execSQL(t, "UPDATE billing SET orgId_id = 4146, docId_id = 4192 WHERE id = ?", split)
	s.value("4.2")
	s.value("8.4")
	startReached(t, "callout", map[string]string{"CALLOUT_SWEEP_INTERVAL": "1s", "CALLOUT_SWEEP_SETTLED": "1s", "CALLOUT_REAP_INTERVAL": "1s"})
	s.bill = split
	await.True(t, "the south clinic is told", func() bool { return slices.Contains(s.titles(drSouth), noticeTitle) })
	s.want(isPending)
	s.called()
	s.want(isDone)
	s.inbox(drNorth, noticeTitle)
}

func hospitalDoctorAndClinicAreRemoved(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	execSQL(t, "UPDATE billing SET docId_id = NULL, orgId_id = NULL WHERE id = ?", s.bill)
	execSQL(t, "UPDATE labReportRelation SET docForId_id = NULL, orgId_id = NULL WHERE id = ?", s.report)
	s.becomes("4.2")
	s.want(isDone)
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.becomes("7.9")
	s.awaits("the value returned", isPending)
	s.called()
	s.want(isDone)
	if got := call(t, drNorth, "GET", fmt.Sprintf("/report/%d/critical/records", s.bill), ""); got.status == http.StatusOK && strings.Contains(got.body, "Meena") {
		t.Errorf("the removed doctor reads %s", got.body)
	}
}

func hospitalKeyOnSeveralDoors(t *testing.T) {
	a, b := fresh(t, "7.9"), fresh(t, "7.8")
	key := fmt.Sprint("hospital-", a.report)
	body := func(s story) string {
		return fmt.Sprintf(`{"lab_report_ids":[%d],"recipients":["Referral Doctor"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Anand"}`, s.report)
	}
	path := func(s story) string { return fmt.Sprintf("/report/%d/critical/callout", s.bill) }
	for _, c := range []struct {
		who, path, body string
		want            int
	}{
		{ledgerUser, path(a), body(a), 200}, {ledgerUser, path(a), body(a), 200},
		{ledgerUser, path(b), body(b), 409},
		{ledgerUser, path(b), body(a), 409},
		{ledgerAdmin, path(b), body(b), 200},
		// Keys of another area are separate.
		{ledgerAdmin, "/queue/", `[{"task":1,"task_type":4,"data":{"contact":"+919812345678","message":"x"}}]`, 200},
	} {
		if got := call(t, c.who, "POST", c.path, c.body, "Idempotency-Key", key); got.status != c.want {
			t.Errorf("%s %s: %d %s, want %d", c.who, c.path, got.status, got.body, c.want)
		}
	}
	b.want(isDone)
	a.becomes("4.2")
	a.becomes("7.9")
	call(t, ledgerUser, "POST", path(a), body(a), "Idempotency-Key", key)
	a.want(isPending) // the first call stated the previous value
	a.called()
}

func hospitalOneMessageManyHands(t *testing.T) {
	const seconds = "2006-01-02T15:04:05"
	for round := range 6 {
		due := time.Now().UTC().Truncate(time.Second).Add(2 * time.Second)
		marker := fmt.Sprintf("hands %d %d", round, time.Now().UnixNano())
		id := jobOf(t, labSession, "/schedule/", fmt.Sprintf(`[{"task":1,"task_type":4,"sch_time":%q,"data":{"contact":"+919812345678","message":%q}}]`, due.Format(seconds), marker))
		await.True(t, "a moment around its time", func() bool { return time.Since(due) > time.Duration(round-3)*200*time.Millisecond })
		var wait sync.WaitGroup
		answers := make([]string, 12)
		for i := range answers {
			wait.Go(func() {
				path, body := "/cancelJob/", fmt.Sprintf(`{"job_id":%q}`, id)
				switch i % 3 {
				case 1:
					path, body = "/rescheduleJob/", fmt.Sprintf(`{"job_id":%q,"resc_at":%q}`, id, time.Now().UTC().Add(time.Second).Format(seconds))
				case 2:
					path, body = "/retryTask/", fmt.Sprintf(`[{"job_id":%q}]`, id)
				}
				got, err := send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", path, body)
				answers[i] = fmt.Sprint(path, got.status, " ", got.body, err)
			})
		}
		wait.Wait()
		var status string
		await.True(t, "an end", func() bool {
			info := call(t, labSession, "POST", "/jobInfo/", fmt.Sprintf(`{"id":%q}`, id))
			job, _ := info.json(t)["job"].(map[string]any)
			status = fmt.Sprint(job["status"])
			return status == "finished" || status == "cancelled" || status == "failed"
		})
		base := strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/outbox/")
		n := strings.Count(callAt(t, base, "", "GET", "/outbox/messages?channel=sms", "").body, marker)
		if n > 1 || (status == "finished") != (n == 1) {
			t.Errorf("round %d: %s and %d messages: %v", round, status, n, answers)
		}
	}
}
