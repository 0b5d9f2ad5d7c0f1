package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

const notificationsPath = "/api-v3/notifications/"

// trigger sends a trigger as a service and returns the response.
func trigger(t *testing.T, path, body string) answer {
	t.Helper()
	return callAt(t, stack.Endpoints.GatewayInternal, "", "POST", notificationsPath+path, body,
		"Authorization", "Bearer "+internalToken(t), "x-is-internal-request", "True")
}

// newNotification triggers a critical report of an organization and returns the notification's id.
func newNotification(t *testing.T, org, report int) int {
	t.Helper()
	got := trigger(t, "fcm/2/topic/notify", fmt.Sprintf(`{"lab_id":12,"org_id":%d,"lrr_id":%d}`, org, report))
	if got.status != http.StatusOK || got.json(t)["success"] != true {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	return int(got.json(t)["notification_id"].(float64))
}

func inboxOf(t *testing.T, session string) map[int]map[string]any {
	t.Helper()
	got := call(t, session, "GET", notificationsPath+"all?limit=10000", "")
	if got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	found := map[int]map[string]any{}
	for _, one := range got.json(t)["data"].([]any) {
		n := one.(map[string]any)
		found[int(n["id"].(float64))] = n
	}
	return found
}

func TestNotificationsDocumentedAnswers(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name, session, method, path, body string
		status                            int
		want                              string
	}{
		{"no session", "", "GET", "all", "", 401, `"code":401`},
		{"a list", labSession, "GET", "all", "", 200, `{"message":"success","data":[`},
		{"page 0", labSession, "GET", "all?page=0", "", 400, "page must be a positive integer"},
		{"limit of letters", labSession, "GET", "all?limit=ten", "", 400, "limit must be a positive integer"},
		{"a limit above the most", labSession, "GET", "all?limit=20000", "", 200, `"message":"success"`},
		{"not a date", labSession, "GET", "all?from=yesterday", "", 400, "from must be a date"},
		{"from after to", labSession, "GET", "all?from=2026-11-20&to=2026-11-19", "", 400, "from must not be later"},
		{"another action", labSession, "POST", "notification/1/archive", "", 400, "action must be read or unread"},
		{"no such notification", labSession, "POST", "notification/99999999/read", "", 404, `"code":404`},
		{"activities", labSession, "GET", "notification/activities?fromDate=2026-01-01&toDate=2026-12-31", "", 200, `"limit_reached":false`},
		{"types", labSession, "GET", "notification-type/all", "", 200, `{"total":2,"notification_types":[{"id":1,"category":"report","name":"organisation_report_ready"`},
		{"an unknown type", "demo-admin", "POST", "notification-type/bulk", `{"notification_types":[{"id":999,"is_disabled":true}]}`, 400, "no notification type 999"},
		{"a type twice", "demo-admin", "POST", "notification-type/bulk", `{"notification_types":[{"id":1,"is_disabled":true},{"id":1,"is_disabled":false}]}`, 400, "given twice"},
		{"bulk as an organization", "demo-organization", "POST", "notification-type/bulk", `{"notification_types":[{"id":1,"is_disabled":true}]}`, 403, `"code":403`},
		{"own preferences", labSession, "GET", "notification-type/user-preferences/77", "", 200, `"user_preferences":[{"id":1,"category":"report"`},
		{"another user's", "demo-lab-user-department", "GET", "notification-type/user-preferences/77", "", 403, `"code":403`},
		{"another user's as administrator", "demo-admin", "GET", "notification-type/user-preferences/77", "", 200, `"total":`},
		{"a user of another laboratory", "demo-admin", "GET", "notification-type/user-preferences/87", "", 404, `"code":404`},
		{"no token", labSession, "POST", "fcm/topic/subscribe", `{}`, 400, "token is required"},
		{"an unknown token", labSession, "POST", "fcm/topic/unsubscribe", `{"token":"unknown"}`, 200, `{"success":true,"message":"Unsubscribed successfully","topics":[]}`},
		{"notify as a user", labSession, "POST", "fcm/2/topic/notify", `{"lab_id":12}`, 403, `"code":403`},
		{"notify without anything", "", "POST", "fcm/2/topic/notify", `{"lab_id":12}`, 401, `"code":401`},
		{"a service worker", "", "GET", "service-worker/firebase-messaging-sw.js", "", 200, "showNotification"},
		{"no such service worker", "", "GET", "service-worker/other.js", "", 404, `"code":404`},
	}
	for _, s := range steps {
		got := call(t, s.session, s.method, notificationsPath+s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.want) {
			t.Errorf("%s: %d %.300s, want %d with %s", s.name, got.status, got.body, s.status, s.want)
		}
	}
	worker := call(t, "", "GET", notificationsPath+"service-worker/fcm-sw.js", "")
	if kind := worker.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("service worker is %s", kind)
	}
	if allowed, cache := worker.header.Get("Service-Worker-Allowed"), worker.header.Get("Cache-Control"); allowed != "/" || cache != "no-cache" {
		t.Errorf("service worker: allowed %q, cache %q", allowed, cache)
	}
}

func TestNotificationsOfAnOrganization(t *testing.T) {
	t.Parallel()
	id := newNotification(t, 45, 880001)
	for session, sees := range map[string]bool{"demo-organization": true, labSession: true, otherSession: false, "demo-doctor": false} {
		n, ok := inboxOf(t, session)[id]
		if ok != sees {
			t.Errorf("%s sees it: %v", session, ok)
		}
		if ok && (n["read_on"] != nil || n["read_by_username"] != nil || n["message"].(map[string]any)["title"] != "Critical report") {
			t.Errorf("%s sees %v", session, n)
		}
	}
	path := fmt.Sprintf("%snotification/%d/", notificationsPath, id)
	read := call(t, labSession, "POST", path+"read", "").json(t)
	again := call(t, labSession, "POST", path+"read/", "").json(t)
	data, repeated := read["notification_data"].(map[string]any), again["notification_data"].(map[string]any)
	if data["read_by"] != 77.0 || data["read_by_username"] != "asha" || data["read_on"] != repeated["read_on"] || len(repeated["notification_activities"].([]any)) != 1 {
		t.Fatalf("%v, then %v", read, again)
	}
	if n := inboxOf(t, "demo-organization")[id]; n["read_on"] != nil || len(n["notification_activities"].([]any)) != 0 {
		t.Errorf("the organization has not read it and sees no reader of the laboratory: %v", n)
	}
	unread := call(t, labSession, "POST", path+"unread", "").json(t)["notification_data"].(map[string]any)
	if unread["read_on"] != nil || len(unread["notification_activities"].([]any)) != 2 {
		t.Errorf("%v", unread)
	}
	if got := call(t, otherSession, "POST", path+"read", ""); got.status != http.StatusNotFound {
		t.Errorf("another laboratory: %d %s", got.status, got.body)
	}
}

func TestNotificationsAreSentOnceAndPushed(t *testing.T) {
	t.Parallel()
	first, second := newNotification(t, 46, 880002), newNotification(t, 46, 880002)
	if first != second {
		t.Errorf("the same report in a minute is notification %d and %d", first, second)
	}
	await.True(t, "the push is in the mailbox", func() bool {
		got := callAt(t, strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/outbox/"), "", "GET", "/outbox/messages?channel=push", "")
		return strings.Contains(got.body, "IN_notification_type_2_org_46")
	})
	for name, body := range map[string]string{"no laboratory": `{"org_id":46}`, "not an object": `[1]`, "a bad id": `{"lab_id":12,"org_id":-4}`} {
		if got := trigger(t, "fcm/2/topic/notify", body); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s, want status 400", name, got.status, got.body)
		}
	}
	for path, want := range map[string]int{"sms/2/topic/notify": 404, "fcm/999/topic/notify": 404, "fcm/x/topic/notify": 400} {
		if got := trigger(t, path, `{"lab_id":12,"org_id":46}`); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// TestNotificationKeysStandForOneNotification checks that a repeated key gives the same notification, and that a
// changed request or an empty key is refused. A notice without the laboratory must go to the organization and the
// doctor of its context.
func TestNotificationKeysStandForOneNotification(t *testing.T) {
	t.Parallel()
	const keyed, context = "fcm/2/topic/notify?idempotency_key=e2e-report-880011", `{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":880011,"laboratory":false}`
	first := trigger(t, keyed, context)
	topic := regexp.MustCompile(`"topic":\s*"IN_notification_type_2_org_45_[0-9a-f]{32}"`)
	if got := first.json(t); first.status != http.StatusOK || got["duplicate"] != nil || !topic.MatchString(first.body) {
		t.Fatalf("%d %s, want a notification that is no duplicate", first.status, first.body)
	}
	again := trigger(t, keyed, context)
	if got := again.json(t); got["duplicate"] != true || got["notification_id"] != first.json(t)["notification_id"] {
		t.Errorf("the same again: %s, want the first id as a duplicate", again.body)
	}
	for name, body := range map[string]string{
		"another organisation": `{"lab_id":12,"org_id":46,"doctor_id":301,"lrr_id":880011,"laboratory":false}`,
		"with the laboratory":  `{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":880011}`,
		"a correction":         `{"lab_id":12,"org_id":45,"doctor_id":301,"lrr_id":880011,"laboratory":false,"corrected":true}`,
	} {
		if got := trigger(t, keyed, body); got.status != http.StatusConflict || !strings.Contains(got.body, `"code":409`) {
			t.Errorf("%s: %d %s, want 409", name, got.status, got.body)
		}
	}
	if got := trigger(t, strings.Replace(keyed, "fcm/2", "fcm/1", 1), context); got.status != http.StatusConflict {
		t.Errorf("another type: %d %s, want 409", got.status, got.body)
	}
	for path, body := range map[string]string{
		"fcm/2/topic/notify?idempotency_key=": context, "fcm/2/topic/notify": `{"lab_id":12,"lrr_id":880011,"laboratory":false}`,
	} {
		if got := trigger(t, path, body); got.status != http.StatusBadRequest {
			t.Errorf("%s with %s: %d %s, want 400", path, body, got.status, got.body)
		}
	}
}

func TestNotificationsPreferencesAreForms(t *testing.T) {
	t.Parallel()
	session := "demo-lab-user-department" // user 78
	path := notificationsPath + "notification-type/user-preferences"
	subscribe := func() []any {
		t.Helper()
		got := call(t, session, "POST", notificationsPath+"fcm/topic/subscribe", `{"token":"e2e-token-78","platform":"web"}`)
		if got.status != http.StatusOK {
			t.Fatalf("got %d %s, want status 200", got.status, got.body)
		}
		return got.json(t)["topics"].([]any)
	}
	if topics := subscribe(); len(topics) != 4 || !strings.HasPrefix(fmt.Sprint(topics[0]), "IN_notification_type_1_lab_12_") {
		t.Fatalf("topics %v", topics)
	}
	form := url.Values{"labUserId": {"78"}, "userNotificationPreferences": {`[{"id":1,"is_disabled":1}]`}}.Encode()
	got := call(t, session, "POST", path, form, "Content-Type", "application/x-www-form-urlencoded")
	if got.status != http.StatusOK || !strings.Contains(got.body, `"id":1,"category":"report","name":"organisation_report_ready","description":"A report of the organisation is ready","is_disabled":true`) {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	if topics := subscribe(); len(topics) != 2 {
		t.Errorf("topics %v", topics)
	}
	multipart := "--b\r\nContent-Disposition: form-data; name=\"labUserId\"\r\n\r\n78\r\n--b\r\n" +
		"Content-Disposition: form-data; name=\"userNotificationPreferences\"\r\n\r\n[{\"id\":1,\"is_disabled\":0}]\r\n--b--\r\n"
	if got := call(t, session, "POST", path, multipart, "Content-Type", "multipart/form-data; boundary=b"); got.status != http.StatusOK {
		t.Errorf("got %d %s, want status 200", got.status, got.body)
	}
	if got := call(t, session, "POST", path, `{"labUserId":78,"userNotificationPreferences":"[{\"id\":1,\"is_disabled\":false}]"}`); got.status != http.StatusOK {
		t.Errorf("got %d %s, want status 200", got.status, got.body)
	}
	for name, form := range map[string]url.Values{
		"not JSON":        {"labUserId": {"78"}, "userNotificationPreferences": {"yes"}},
		"not a list":      {"labUserId": {"78"}, "userNotificationPreferences": {`{"id":1}`}},
		"an unknown type": {"labUserId": {"78"}, "userNotificationPreferences": {`[{"id":999,"is_disabled":1}]`}},
		"no user":         {"userNotificationPreferences": {`[{"id":1,"is_disabled":1}]`}},
		"a bad flag":      {"labUserId": {"78"}, "userNotificationPreferences": {`[{"id":1,"is_disabled":7}]`}},
	} {
		if got := call(t, session, "POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s, want status 400", name, got.status, got.body)
		}
	}
	if got := call(t, session, "POST", notificationsPath+"fcm/topic/unsubscribe", `{"token":"e2e-token-78"}`); got.status != http.StatusOK ||
		len(got.json(t)["topics"].([]any)) == 0 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestNotificationsABrowserChangesHands uses one browser for a lab user, an organization's login and a collection
// centre's login, without a logout. The device must have the topics of the current login only, and none for the
// external login.
func TestNotificationsABrowserChangesHands(t *testing.T) {
	t.Parallel()
	const token = "e2e-changes-hands"
	subscribe := func(session string) answer {
		t.Helper()
		return call(t, session, "POST", notificationsPath+"fcm/topic/subscribe", `{"token":"`+token+`","platform":"web"}`)
	}
	for session, own := range map[string]string{labSession: "_lab_12", "demo-organization": "_org_45"} {
		if got := subscribe(session); got.status != http.StatusOK || !strings.Contains(got.body, own) {
			t.Errorf("%s: got %d %s, want status 200", session, got.status, got.body)
		}
	}
	subscribe(labSession)
	if got := subscribe("demo-organization"); strings.Contains(got.body, "_lab_12") || strings.Contains(got.body, "_user_") {
		t.Errorf("the organisation has topics of the laboratory: %s", got.body)
	}
	const left = "SELECT COUNT(*) FROM FcmDevices WHERE token = '" + token + "'"
	if n := count(t, left+" AND user_type LIKE 'org%' AND topics NOT LIKE '%lab_12%' AND JSON_LENGTH(pending_topics) = 0"); n != 1 {
		t.Errorf("%d rows of the organisation", n)
	}
	for _, session := range []string{"demo-collection-center", "demo-support"} {
		subscribe(labSession)
		if got := subscribe(session); got.status != http.StatusForbidden {
			t.Errorf("%s: got %d %s, want status 403", session, got.status, got.body)
		}
		if n := count(t, left); n != 0 {
			t.Errorf("%s: the device has its previous topics", session)
		}
	}
}
