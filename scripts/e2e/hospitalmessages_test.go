package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// hospitalReceiverAnswersLate checks that each delivery of one order has the same id, and that a response in time ends
// the deliveries.
func hospitalReceiverAnswersLate(t *testing.T) {
	var mu sync.Mutex
	var ids, keys []string
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		ids, keys = append(ids, r.Header.Get("Webhook-Id")), append(keys, r.Header.Get("Idempotency-Key"))
		first := len(ids) == 1
		mu.Unlock()
		if first {
			<-r.Context().Done() // waits until the queue cancels the request
		}
		w.WriteHeader(http.StatusOK)
	}))
	defer sink.Close()
	job := jobOf(t, labSession, "/queue/", fmt.Sprintf(`[{"task":4,"task_type":2,"retry":3,"data":{"url":%q,"args":{"order":17},"isBody":1,"timeout":1}}]`, sink.URL))
	got := awaitStatus(t, labSession, job, "finished")
	mu.Lock()
	defer mu.Unlock()
	if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" || keys[0] != keys[1] {
		t.Errorf("deliveries %q, keys %q, job %v", ids, keys, got)
	}
}

// hospitalNumberWasCorrected cancels the message to a wrong number. A message to another number with the same
// idempotency key is refused.
func hospitalNumberWasCorrected(t *testing.T) {
	body := func(contact string) string {
		return fmt.Sprintf(`[{"sch_time":%q,"task":1,"task_type":4,"data":{"contact":%q,"message":"Your report is ready"}}]`,
			time.Now().UTC().Add(72*time.Hour).Format("2006-01-02")+"T09:00:00", contact)
	}
	key := fmt.Sprint("number-", time.Now().UnixNano())
	first := call(t, labSession, "POST", "/schedule/", body("+919812345678"), "Idempotency-Key", key)
	if first.status != 200 {
		t.Fatalf("%d %s", first.status, first.body)
	}
	if got := call(t, labSession, "POST", "/schedule/", body("+919812345679"), "Idempotency-Key", key); got.status != 409 {
		t.Errorf("another number under the same key: %d %s", got.status, got.body)
	}
	job := fmt.Sprint(first.json(t)["job_ids"].([]any)[0])
	if got := call(t, otherSession, "POST", "/cancelJob/", fmt.Sprintf(`{"job_id":%q}`, job)); !strings.Contains(got.body, "not found") {
		t.Errorf("another laboratory cancels: %s", got.body)
	}
	call(t, labSession, "POST", "/cancelJob/", fmt.Sprintf(`{"job_id":%q}`, job))
	awaitStatus(t, labSession, job, "cancelled")
	call(t, labSession, "POST", "/rescheduleJob/", fmt.Sprintf(`{"job_id":%q,"resc_at":%q}`, job, time.Now().UTC().Add(time.Second).Format("2006-01-02T15:04:05")))
	call(t, labSession, "POST", "/retryTask/", fmt.Sprintf(`[{"job_id":%q}]`, job))
	awaitStatus(t, labSession, job, "cancelled")
}

// hospitalRemovedDoctorWatches checks that a result disappears from the open board of a doctor when its bill gets
// another doctor.
func hospitalRemovedDoctorWatches(t *testing.T) {
	s := fresh(t, "7.9")
	board := openStream(t, drNorth, calloutLivePath, "")
	board.wantOpen(s.report, true)
	s.toSouth()
	s.judge()
	board.wantOpen(s.report, false)
	s.inbox(drSouth, noticeTitle)
	s.called()
}

// hospitalPageOfTheRerunBefore checks that a confirm is refused on a page that was opened for an earlier rerun, which
// was aborted and requested again.
func hospitalPageOfTheRerunBefore(t *testing.T) {
	s := fresh(t, "5.9")
	s.requestRerun()
	s.measured("8.9")
	path := fmt.Sprintf("/api-v3/sample-rerun/%d/", s.report)
	seen := call(t, ledgerUser, "GET", path, "").json(t)["as_of"]
	s.rerun("abort", `{}`)
	s.requestRerun()
	s.measured("4.4")
	got := call(t, ledgerUser, "POST", path+"confirm", fmt.Sprintf(`{"seen_at":%q,"rerun_confirmed_data":[{"index":2,"order":2,"value":"8.9","parameter_name":"Potassium"}]}`, seen))
	if got.status != 409 {
		t.Errorf("confirm of the page before: %d %s", got.status, got.body)
	}
	s.confirmed("4.4")
	s.awaits("the value of the present rerun", isNormal)
}

// hospitalCancelledBill checks that a critical result stays open after its bill was cancelled, because the patient is
// still in danger.
func hospitalCancelledBill(t *testing.T) {
	s := fresh(t, "7.9")
	execSQL(t, "UPDATE billing SET billCancelled = 1 WHERE id = ?", s.bill)
	s.judge()
	s.onBoard("open")
	s.becomes("8.4")
	s.onBoard("open")
	s.called()
	s.want(isDone)
}

// hospitalMergedIntoTheCalled deletes the duplicate record of a patient after its result was called. Then the value
// turns out to be wrong: the notice is withdrawn, and one correction is sent.
func hospitalMergedIntoTheCalled(t *testing.T) {
	s := fresh(t, "7.9")
	s.called()
	into := person(t)
	execSQL(t, "UPDATE userDetails SET fullName = ?, gender = 'Female', dateOfBirth = '1984-02-11' WHERE id = ?", fmt.Sprint("Meena ", s.patient), into)
	s.move(into)
	execSQL(t, "DELETE FROM userDetails WHERE id = ?", s.patient)
	s.becomes("4.2")
	s.want(isDone)
	s.inbox(drNorth, withdrawnTitle, correctedTitle)
	s.once()
	s.becomes("7.9")
	s.want(isPending)
	s.called()
}

// hospitalLaboratoryIsPaused pauses a laboratory. Its notices wait, and the notice of a value that is corrected
// meanwhile is never sent.
func hospitalLaboratoryIsPaused(t *testing.T) {
	if got := call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/subscribe", `{"token":"paused-device","platform":"web"}`); got.status != http.StatusOK {
		t.Fatalf("subscribe: %d %s", got.status, got.body)
	}
	defer call(t, ledgerUser, "POST", notificationsPath+"fcm/topic/unsubscribe", `{"token":"paused-device"}`)
	paused := func(is bool) {
		t.Helper()
		operate(t, fmt.Sprintf(`{"operator":"e2e","ticket":"story","lab_id":41,"paused":%t}`, is))
	}
	paused(true)
	resumed := false
	defer func() {
		if !resumed {
			paused(false)
		}
	}()
	var waits story
	await.Nil(t, "the board shows that messages to phones wait", func() error {
		waits = fresh(t, "7.9")
		if off := boardOf(t, ledgerUser).Off; off == nil || off.Reason != "push_waits" {
			waits.called()
			return fmt.Errorf("%+v", off)
		}
		return nil
	})
	corrected := fresh(t, "7.7")
	corrected.becomes("4.2")
	corrected.delivered()
	paused(false)
	resumed = true
	await.True(t, "the push of what waits", func() bool { return pushesOf(waits) > 0 })
	await.True(t, "no push waits", func() bool { return count(t, "SELECT COUNT(*) FROM outbox_notifications") == 0 })
	if n := pushesOf(corrected); n != 0 {
		t.Errorf("%d pushes of a corrected value", n)
	}
	waits.called()
}

// pushesOf returns the number of push messages about a report.
func pushesOf(s story) int {
	base := strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/outbox/")
	got := callAt(s.T, base, "", "GET", "/outbox/messages?channel=push", "")
	return strings.Count(got.body, fmt.Sprintf(`lrr_id\":\"%d\"`, s.report))
}
