package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keyed is a request that is sent twice with one key, and a different request of the same operation. Without a session,
// it is sent by another service of the platform.
type keyed struct {
	session, path, body  string
	otherPath, otherBody string // "" means the value of the first request
}

func (k keyed) send(t *testing.T, path, body, key string) answer {
	t.Helper()
	if k.session != "" {
		return call(t, k.session, "POST", path, body, "Idempotency-Key", key)
	}
	return callAt(t, stack.Endpoints.GatewayInternal, "", "POST", path, body, "Idempotency-Key", key,
		"x-is-internal-request", "true", "Authorization", "Bearer "+internalToken(t))
}

// keyedRequests returns a request of every operation that accepts a key, by its path in the API document.
func keyedRequests(t *testing.T) map[string]keyed {
	t.Helper()
	const bill, report, test = 988_010, 988_100, 988_200
	newCriticalBill(t, bill, 1, 1)
	newCriticalBill(t, bill+10, 1, 1)
	seedBill(t, bill+20)
	seedBill(t, bill+30)
	seedTest(t, test)
	for n := range 5 {
		newReport(t, report+n)
	}
	accept(t, report+1, "request", `{"type":"Manual","requested_parameters":[1]}`, "Manual Sample rerun requested successfully")
	accept(t, report+2, "request", `{"type":"Manual","requested_parameters":[1]}`, "Manual Sample rerun requested successfully")
	split := call(t, labSession, "POST", fmt.Sprint(splitPath, bill+30), fmt.Sprintf(`{"test_ids":[%d],"new_source":"Self Pay"}`, (bill+30)*10+1))
	editing, chief := editor(t, 12, "report_edit"), editor(t, 12, "report_edit_takeover")
	edited, saved := editReport(t), editReport(t)
	session, _ := openSession(t, editing, edited, creation)
	saving, token := openSession(t, chief, saved, creation)
	saves(t, "one", saved, saving, token, http.StatusOK)
	saves(t, "two", saved, saving, token, http.StatusOK)
	if got := call(t, chief, "PUT", fmt.Sprintf("%s/%d", editPath, saving), ""); got.status != http.StatusOK {
		t.Fatalf("end: %d %s", got.status, got.body)
	}
	revision := revisionsOf(t, chief, fmt.Sprintf("%s/%d/revisions", editPath, saved))[1]["id"]
	enlist(t, chief, `["report_edit_takeover"]`)
	notice := newNotification(t, 45, 880_100)
	later := jobOf(t, labSession, "/schedule/", scheduledMail)
	moved := jobOf(t, labSession, "/schedule/", scheduledMail)
	failed := jobOf(t, labSession, "/queue/", whatsAppWithoutConsent)
	awaitStatus(t, labSession, failed, "failed")
	callout := keyed{session: labSession, path: fmt.Sprintf("/report/%d/critical/callout", bill), body: calledOut(bill + 1), otherBody: calledOut(bill + 2)}
	alias := callout
	alias.path, alias.body, alias.otherBody = fmt.Sprintf("/api-v3/report/%d/critical/callout", bill+10), calledOut(bill+11), calledOut(bill+12)
	rerun := func(n int, operation, body, otherBody string) keyed {
		return keyed{session: labSession, path: fmt.Sprintf("/api-v3/sample-rerun/%d/%s", report+n, operation), body: body,
			otherPath: fmt.Sprintf("/api-v3/sample-rerun/%d/%s", report+4, operation), otherBody: otherBody}
	}
	return map[string]keyed{
		"/api-v3/cell-counter-mappings/{test_id}": {session: labSession, path: fmt.Sprint("/api-v3/cell-counter-mappings/", test),
			body: `{"lab_id":12,"mappings":[{"key":"a","cell_id":1,"report_format_index":1,"report_format_order":1}]}`, otherBody: `{"lab_id":12,"mappings":[]}`},
		"/api-v3/finance/bill/split/{bill_id}": {session: labSession, path: fmt.Sprint(splitPath, bill+20),
			body:      fmt.Sprintf(`{"test_ids":[%d],"new_source":"Self Pay"}`, (bill+20)*10+1),
			otherBody: fmt.Sprintf(`{"test_ids":[%d],"new_source":"Self Pay"}`, (bill+20)*10+2)},
		"/api-v3/finance/bill/split/{bill_id}/merge": {session: labSession, path: fmt.Sprintf("%s%d/merge", splitPath, newBill(t, split)),
			otherPath: fmt.Sprintf("%s%d/merge", splitPath, bill+20)},
		"/api-v3/notifications/fcm/topic/subscribe":    {session: labSession, path: notificationsPath + "fcm/topic/subscribe", body: `{"token":"keyed","platform":"web"}`, otherBody: `{"token":"keyed-2","platform":"web"}`},
		"/api-v3/notifications/fcm/topic/unsubscribe":  {session: labSession, path: notificationsPath + "fcm/topic/unsubscribe", body: `{"token":"keyed"}`, otherBody: `{"token":"keyed-2"}`},
		"/api-v3/notifications/notification-type/bulk": {session: "demo-admin", path: notificationsPath + "notification-type/bulk", body: `{"notification_types":[{"id":2,"is_disabled":false}]}`, otherBody: `{"notification_types":[{"id":3,"is_disabled":false}]}`},
		"/api-v3/notifications/notification-type/user-preferences": {session: labSession, path: notificationsPath + "notification-type/user-preferences",
			body: `{"labUserId":77,"userNotificationPreferences":"[{\"id\":2,\"is_disabled\":0}]"}`, otherBody: `{"labUserId":77,"userNotificationPreferences":"[{\"id\":3,\"is_disabled\":0}]"}`},
		"/api-v3/notifications/notification/read-all":                         {session: labSession, path: notificationsPath + "notification/read-all", otherPath: fmt.Sprintf("%snotification/%d/read", notificationsPath, notice)},
		"/api-v3/notifications/notification/{notification_id}/{action}":       {session: labSession, path: fmt.Sprintf("%snotification/%d/read", notificationsPath, notice), otherPath: fmt.Sprintf("%snotification/%d/unread", notificationsPath, notice)},
		"/api-v3/notifications/{gateway}/{notification_type_id}/topic/notify": {path: notificationsPath + "fcm/2/topic/notify", body: `{"lab_id":12,"org_id":45,"lrr_id":7001}`, otherBody: `{"lab_id":12,"org_id":45,"lrr_id":7002}`},
		"/api-v3/report/external-edit/sessions/{edit_id}/end":                 {session: chief, path: fmt.Sprintf("%s/sessions/%d/end", editPath, session), otherPath: fmt.Sprintf("%s/sessions/%d/end", editPath, saving)},
		"/api-v3/report/external-edit/{id}":                                   {session: editor(t, 12, "report_edit"), path: fmt.Sprintf("%s/%d", editPath, editReport(t)), body: creation, otherBody: `{"template_id":1,"word_s3_filepath":"templates/report.docx","take_over":true}`},
		"/api-v3/report/external-edit/{lab_report_id}/revisions/{revision_id}/restore": {session: chief, path: fmt.Sprintf("%s/%d/revisions/%.0f/restore", editPath, saved, revision),
			otherPath: fmt.Sprintf("%s/%d/revisions/1/restore", editPath, saved)},
		"/report/{bill_id}/critical/callout":           callout,
		"/api-v3/report/{bill_id}/critical/callout":    alias,
		"/api-v3/sample-rerun/{report_id}/request":     rerun(0, "request", `{"type":"Manual","requested_parameters":[1]}`, ""),
		"/api-v3/sample-rerun/{lab_report_id}/confirm": rerun(1, "confirm", `{"rerun_confirmed_data":[{"index":1,"parameter_name":"Haemoglobin","value":"14.1"}]}`, ""),
		"/api-v3/sample-rerun/{lab_report_id}/abort":   rerun(2, "abort", "", ""),
		"/api-v3/sample-rerun/{report_id}/new": rerun(3, "new", values(report+3, -1, `{"index":1,"parameter_name":"Haemoglobin","value":"14.1"}`),
			values(report+4, -1, `{"index":1,"parameter_name":"Haemoglobin","value":"14.1"}`)),
		"/cancelJob":      {session: labSession, path: "/cancelJob", body: fmt.Sprintf(`{"job_id":[%q]}`, later), otherBody: fmt.Sprintf(`{"job_id":[%q]}`, moved)},
		"/mapping":        {session: labSession, path: "/mapping", body: `[{"keyword":"hb","data":{"name":"Haemoglobin"}}]`, otherBody: `[{"keyword":"hct","data":{"name":"Haematocrit"}}]`},
		"/queue":          {session: labSession, path: "/queue", body: whatsAppWithoutConsent, otherBody: strings.ReplaceAll(whatsAppWithoutConsent, "Ready", "Late")},
		"/rescheduleJob":  {session: labSession, path: "/rescheduleJob", body: fmt.Sprintf(`{"job_id":%q,"resc_at":"2027-06-02T10:00:00"}`, moved), otherBody: fmt.Sprintf(`{"job_id":%q,"resc_at":"2027-06-03T10:00:00"}`, moved)},
		"/retryTask":      {session: labSession, path: "/retryTask", body: fmt.Sprintf(`[{"job_id":%q}]`, failed), otherBody: fmt.Sprintf(`[{"job_id":%q}]`, later)},
		"/schedule":       {session: labSession, path: "/schedule", body: scheduledMail, otherBody: strings.ReplaceAll(scheduledMail, "10:00", "11:00")},
		"/update_consent": {session: labSession, path: "/update_consent", body: `{"type":"opt_in","cache_key":"e2e:keyed","details_obj":{"source":"desk"}}`, otherBody: `{"type":"opt_out","cache_key":"e2e:keyed","details_obj":{"source":"desk"}}`},
	}
}

const (
	whatsAppWithoutConsent = `[{"task":6,"task_type":1,"data":{"contact":9812345678,"countryCode":91,"message":"Ready","cache_key":"e2e:never"}}]`
	scheduledMail          = `[{"task":2,"task_type":2,"sch_time":"2027-06-01T10:00:00","data":{"to":["asha@example.com"],"subject":"Your bill","message":"<p>It is ready.</p>"}}]`
)

func calledOut(report int) string {
	return fmt.Sprintf(`{"lab_report_ids":[%d],"recipients":["Dr. Rao"],"communication_methods":["phone"],"notified_person":"Dr Rao","read_back":true,"outcome":"confirmed"}`, report)
}

// keyedPaths returns the paths in the API document whose POST has the header.
func keyedPaths(t *testing.T) (paths []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "proto", "openapi", "lab.openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, operations := range document.Paths {
		if strings.Contains(string(operations["post"]), "parameters/Idempotency-Key") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// The test sends each request twice with one key, as after a lost response: the second must get the first response.
// Another request with the key, and one with an empty key, must be refused.
func TestEveryPostWithAKeyIsExecutedOnce(t *testing.T) {
	requests := keyedRequests(t)
	for _, path := range keyedPaths(t) {
		r, ok := requests[path]
		if !ok {
			t.Errorf("%s takes a key, and no request of this test is one of it", path)
			continue
		}
		key := "once" + strings.Trim(path, "/")
		first, second := r.send(t, r.path, r.body, key), r.send(t, r.path, r.body, key)
		if strings.HasPrefix(path, editPath+"/{id}") { // links and tokens differ in each response
			first.body, second.body = fmt.Sprint(first.json(t)["edit_id"]), fmt.Sprint(second.json(t)["edit_id"])
		}
		if first.status != http.StatusOK || second.status != first.status || second.body != first.body {
			t.Errorf("%s: first %d %s, then %d %s; want the same answer", path, first.status, first.body, second.status, second.body)
		}
		if first.header.Get("Idempotent-Replayed") != "" || second.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: Idempotent-Replayed is %q, then %q; want none, then true", path,
				first.header.Get("Idempotent-Replayed"), second.header.Get("Idempotent-Replayed"))
		}
		otherPath, otherBody := r.otherPath, r.otherBody
		if otherPath == "" {
			otherPath = r.path
		}
		if otherBody == "" {
			otherBody = r.body
		}
		if got := r.send(t, otherPath, otherBody, key); got.status != http.StatusConflict {
			t.Errorf("%s: another request with the key: %d %s, want 409", path, got.status, got.body)
		}
		if got := r.send(t, otherPath, otherBody, ""); got.status != http.StatusBadRequest {
			t.Errorf("%s: an empty key: %d %s, want 400", path, got.status, got.body)
		}
	}
}
