package authorization

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// attempt is a request of a login of laboratory 13 that names something of laboratory 12. {their x} is replaced by
// laboratory 12's x, and any other name in braces by laboratory 13's.
type attempt struct {
	name, method, path, body string

	key      string // value of Idempotency-Key
	as       string // login; empty: l2, a lab user of laboratory 13 with every permission
	state    string // query of rows of laboratory 12 that must not change
	pipeline bool
	check    func(t *testing.T, w *namesWorld, body string) string
}

func post(path, body string) attempt { return attempt{method: http.MethodPost, path: path, body: body} }
func get(path string) attempt        { return attempt{method: http.MethodGet, path: path} }

func (a attempt) with(method string) attempt { a.method = method; return a }
func (a attempt) keeps(query string) attempt { a.state = query; return a }
func (a attempt) called(name string) attempt { a.name = " " + name; return a }
func (a attempt) keyed(key string) attempt   { a.key = key; return a }
func (a attempt) then(check func(t *testing.T, w *namesWorld, body string) string) attempt {
	a.check = check
	return a
}

// Queries of the rows of laboratory 12 that the attempts could change.
const (
	theirBills     = "SELECT CONCAT_WS(',', id, billId_id, labId_id) FROM billingInfo WHERE labId_id = 12 ORDER BY id"
	theirReports   = "SELECT CONCAT_WS(',', id, criticalValues, sampleRedrawFlag, wordFilePath) FROM labReportRelation WHERE labId_id = 12 ORDER BY id"
	theirValues    = "SELECT CONCAT_WS(',', v.id, v.value) FROM reportValues v JOIN labReportRelation r ON r.id = v.labReportId_id WHERE r.labId_id = 12 ORDER BY v.id"
	theirCalls     = "SELECT CONCAT_WS(',', id, lab_report_id) FROM CriticalCallout WHERE lab_id = 12 ORDER BY id"
	theirKeys      = "SELECT CONCAT_WS(',', id, `key`, cell_id) FROM cell_counter_mappings WHERE lab_id = 12 ORDER BY id"
	theirCounts    = "SELECT CONCAT_WS(',', lab_report_id, observer, counts) FROM cell_count WHERE lab_id = 12 ORDER BY 1"
	theirDocuments = "SELECT CONCAT_WS(',', id, session_id, revision) FROM external_edit_revision WHERE session_id < 5000003 ORDER BY id"
	theirDevices   = "SELECT CONCAT_WS(',', token, user_type, lab_user_id, topics) FROM FcmDevices WHERE lab_id = 12 ORDER BY id"
	theirConsents  = "SELECT CONCAT_WS(',', cache_key, type) FROM whatsapp_consent_log WHERE lab_id = 12 ORDER BY id"
	theirWords     = "SELECT CONCAT_WS(',', keyword, data) FROM dictionary_mapping WHERE lab_id = 12 ORDER BY 1"

	person = `{"contact":9812345678,"countryCode":91,"message":"m"`
)

// attempts has the attempts for each line of names.txt with a letter 0, 3, 4, 9, k or dot.
var attempts = map[string][]attempt{
	"billsplit.SplitBillRequest.test_ids": {
		post(split, `{"test_ids":[{their n}1]}`).keeps(theirBills),
		post(split, `{"test_ids":[{n}1,{their n}1]}`).keeps(theirBills).called("beside an own one"),
	},
	"billsplit.SplitBillRequest.lab_id": {
		post(theirSplit, `{"test_ids":[{their n}1],"lab_id":12}`).keeps(theirBills)},
	"billsplit.MergeBillRequest.lab_id": {post(theirSplit+"/merge", `{"lab_id":12}`).keeps(theirBills)},
	"billsplit.GetFamilyRequest.lab_id": {get(theirSplit + "/family?lab_id=12")},

	"callout.SaveCalloutRequest.lab_report_ids": {
		post("/report/{n}/critical/callout", strings.ReplaceAll(draft, "{n}", "{their n}")).keeps(theirCalls)},
	"callout.ToldValue.lab_report_id": {
		post("/report/{n}/critical/callout", strings.Replace(strings.Replace(draft, "true", "false", 1), "{",
			`{"notified_person":"Dr Rao","read_back":true,"told_values":[{"lab_report_id":{their n},"report_format_id":5501,"raw_value":"5.9"}],`, 1)).keeps(theirCalls)},

	"cellcounter.SaveMappingsRequest.lab_id":         {post(counter+"{test_id}?lab_id=12", "{"+oneCell).keeps(theirKeys)},
	"cellcounter.PatchMappingsRequest.lab_id":        {post(counter+"{test_id}?lab_id=12", "{"+oneCell).with(http.MethodPatch).keeps(theirKeys)},
	"cellcounter.MappingInput.report_format_id":      {post(counter+"{test_id}", `{"lab_id":13,"mappings":[{"key":"q","cell_id":1,"report_format_id":{their format}}]}`).with(http.MethodPatch).keeps(theirKeys)},
	"cellcounter.MappingInput.key":                   {post(counter+"{test_id}", `{"lab_id":13,`+oneCell).keeps(theirKeys)},
	"cellcounter.GetCountsRequest.lab_report_id":     {get(counter + "{test_id}/counts/{their n}")},
	"cellcounter.SaveCountRequest.lab_report_id":     {post(counter+"{test_id}/counts/{their n}", `{"observer":2,"counts":[{"cell_id":1,"count":100}]}`).with(http.MethodPut).keeps(theirCounts)},
	"cellcounter.ComputeDifferentialRequest.test_id": {post(counter+"{their test}/differential", `{"counts":[{"cell_id":1,"count":100}]}`)},

	"externaledit.CreateSessionRequest.word_s3_filepath": {
		post(edit+"{n}", `{"template_id":{template},"word_s3_filepath":"{their file}"}`).keeps(theirDocuments)},
	"externaledit.CreateSessionRequest.template_id": {
		post(edit+"{n}", `{"template_id":{their template},"word_s3_filepath":"templates/report.docx"}`)},
	"externaledit.RestoreRevisionRequest.revision_id": {post(edit+"{n}/revisions/{their n}/restore", "").keeps(theirDocuments)},

	"notifications.UnsubscribeTopicsRequest.token": {
		post(notes+"fcm/topic/unsubscribe", `{"token":"{their token}"}`).keeps(theirDevices).then(without(`_lab_12_`))},
	"notifications.SubscribeTopicsRequest.token": {
		post(notes+"fcm/topic/subscribe", `{"token":"{their handed token}"}`).then(without(`_lab_12_`)),
	},
	"notifications.NotifyRequest.idempotency_key": {
		{method: http.MethodPost, path: notes + "fcm/2/topic/notify?idempotency_key=names-of-12", as: "service",
			body: `{"lab_id":13,"org_id":55,"lrr_id":{n}}`, check: without(`"duplicate":true`)},
	},

	"rerun.AddValuesRequest.lab_report_id":   {post(rerun+"{n}/new", strings.Replace(values, `"lab_report_id":{n}`, `"lab_report_id":{their n}`, 1)).keeps(theirReports)},
	"rerun.AddValuesRequest.lab_id":          {post(rerun+"{their n}/new", strings.Replace(values, "{", `{"lab_id":12,`, 1)).keeps(theirReports)},
	"rerun.RequestRerunRequest.lab_id":       {post(rerun+"{their n}/request", `{"lab_id":12,"type":"Manual","rerun_number":"1","requested_parameters":"[1]","is_active":true}`).keeps(theirReports)},
	"rerun.ConfirmRerunRequest.lab_id":       {post(rerun+"{their n}/confirm", strings.Replace(confirm, "{", `{"lab_id":12,`, 1)).keeps(theirValues)},
	"rerun.AbortRerunRequest.lab_id":         {post(rerun+"{their n}/abort", `{"lab_id":12}`).keeps(theirReports)},
	"rerun.EvaluateAutoRerunRequest.lab_id":  {post(rerun+"{their n}/auto", `{"lab_id":12,"device_data":[{"index":1,"value":"5.0"}]}`).keeps(theirReports)},
	"rerun.ListRerunsRequest.lab_id":         {get(rerun + "{their n}?lab_id=12")},
	"rerun.ConfirmedValue.reportForId_id":    {post(rerun+"{n}/confirm", strings.Replace(confirm, `"reportForId_id":{n}`, `"reportForId_id":{their n}`, 1)).keeps(theirValues)},
	"rerun.ConfirmedValue.profileTestId":     {post(rerun+"{n}/confirm", strings.Replace(confirm, `"profileTestId":0`, `"profileTestId":{their test}`, 1)).keeps(theirValues)},
	"rerun.ConfirmedValue.test_id":           {post(rerun+"{n}/confirm", strings.Replace(confirm, `"value"`, `"test_id":{their test},"value"`, 1)).keeps(theirValues)},
	"search.SearchUsersRequest.lab_id":       {{method: http.MethodPost, path: "/api/v1/users/search", body: `{"query":"Zzcanary","lab_id":12}`, pipeline: true}},
	"search.LookUpRequest.number":            {{method: http.MethodGet, path: "/api/v1/lookup?number={their n}", pipeline: true}},
	"taskqueue.PushData.topic":               {push(`"topic":"{their topic}"`), push(`"topic":"/topics/{their topic}"`).called("with a prefix")},
	"taskqueue.PushData.tokens":              {push(`"tokens":["{their token}"]`).keeps(theirDevices)},
	"taskqueue.SMSData.senderId":             {task("1", person+`,"senderId":"TWELVE"}`).then(notTheirs), task("1", person+`,"senderId":"twelve"}`).called("in lower case")},
	"taskqueue.SMSData.config.provider":      {task("1", person+`,"config":{"provider":"sms-of-12"}}`).then(notTheirs)},
	"taskqueue.EmailData.sender_email":       {mail(`"sender_email":"reports@twelve.example"`).then(notTheirs), mail(`"sender_email":"Twelve <reports@twelve.example>"`).called("with a name")},
	"taskqueue.EmailData.sender_name":        {mail(`"sender_name":"Twelve Diagnostics"`).then(notTheirs)},
	"taskqueue.WhatsAppData.config.provider": {task("6", person+`,"config":{"provider":"whatsapp-of-12"}}`).then(notTheirs)},
	"taskqueue.WhatsAppData.cache_key":       {task("6", person+`,"cache_key":"consent-12"}`).then(failsFor("consent_missing"))},
	"taskqueue.EmailData.files":              {get("{their link}")},
	"taskqueue.WhatsAppData.files":           {get("{their link}")},
	"taskqueue.UpdateConsentRequest.lab_id":  {post("/update_consent", `{"type":"opt_out","cache_key":"consent-12","details_obj":{},"lab_id":12}`).keeps(theirConsents)},
	"taskqueue.EnqueueRequest.idempotency_key": {
		post("/queue", "[{"+webhook+"}]").keyed("queue-of-12").then(otherJob)},
	"taskqueue.ScheduleRequest.idempotency_key": {
		post("/schedule", "[{"+webhook+`,"sch_time":"{soon}"}]`).keyed("schedule-of-12").then(otherJob)},
	"taskqueue.ScheduledTask.window_delay": {
		post("/schedule", "[{"+webhook+`,"sch_time":"{soon}","window_delay":"window-12","override_window":1}]`).then(otherJob)},
	"taskqueue.UpdateConsentRequest.cache_key": {
		post("/update_consent", `{"type":"opt_out","cache_key":"consent-12","details_obj":{}}`).keeps(theirConsents)},
	"taskqueue.DictionaryMapping.keyword":   {post("/mapping", `[{"keyword":"word-12","data":{"a":"thirteen"}}]`).keeps(theirWords)},
	"taskqueue.CancelJobRequest.id":         {job("/cancelJob", `{"id":["{their job}"]}`)},
	"taskqueue.CancelJobRequest.job_id":     {job("/cancelJob", `{"job_id":["{their job}"]}`)},
	"taskqueue.JobInfoRequest.job_id":       {job("/jobInfo", `{"job_id":"{their job}"}`)},
	"taskqueue.RescheduleJobRequest.id":     {job("/rescheduleJob", `{"id":"{their job}","resc_at":"2026-12-31T00:00:00"}`)},
	"taskqueue.RescheduleJobRequest.job_id": {job("/rescheduleJob", `{"job_id":"{their job}","resc_at":"2026-12-31T00:00:00"}`)},
	"taskqueue.RetryTarget.job_id":          {job("/retryTask", `[{"job_id":"{their job}"}]`)},
}

const theirSplit = "/api-v3/finance/bill/split/{their n}"

// task returns an attempt that enqueues a task of a kind with data.
func task(kind, data string) attempt {
	return post("/queue", `[{"task":`+kind+`,"task_type":1,"data":`+data+`}]`)
}

func push(to string) attempt {
	return task("3", `{`+to+`,"title":"Critical report","body":"A result was wrong"}`)
}

func mail(more string) attempt {
	return task("2", `{"to":["p@else.example"],"subject":"s","message":"m",`+more+`}`)
}

// job returns an attempt on laboratory 12's job, which must not be found and not change.
func job(path, body string) attempt {
	return post(path, body).then(func(t *testing.T, w *namesWorld, body string) string {
		if !strings.Contains(body, `"code":401`) {
			return "the answer is " + body + ", want code 401: no such job"
		}
		return w.theirJobWaits(t)
	})
}

// notTheirs expects the refusal of a sender of another laboratory. The text must not depend on whether that sender
// exists.
func notTheirs(_ *testing.T, _ *namesWorld, body string) string {
	if !strings.Contains(body, "is not a sender of this laboratory") {
		return "the answer is " + body + ", want a sender that is not this laboratory's"
	}
	return ""
}

// without returns a check that fails if the response contains the word.
func without(word string) func(*testing.T, *namesWorld, string) string {
	return func(_ *testing.T, _ *namesWorld, body string) string {
		if strings.Contains(strings.ReplaceAll(body, " ", ""), word) {
			return "the answer has " + word + ": " + body
		}
		return ""
	}
}

// otherJob expects a new job for laboratory 13 and an unchanged job of laboratory 12.
func otherJob(t *testing.T, w *namesWorld, body string) string {
	if id := jobID(body); id == "" || id == w.theirs["job"] {
		return "the answer is " + body + ", want another job"
	}
	return w.theirJobWaits(t)
}

// failsFor returns a check that expects the job to fail with a reason.
func failsFor(reason string) func(*testing.T, *namesWorld, string) string {
	return func(t *testing.T, w *namesWorld, body string) string {
		id, last := jobID(body), ""
		if id == "" {
			return "the answer is " + body + ", want a job"
		}
		await.Nil(t, "the job's end", func() error {
			_, last = w.send(t, post("/jobInfo", `{"id":"`+id+`"}`))
			if !strings.Contains(last, `"ended_at":"`) {
				return errors.New(last)
			}
			return nil
		})
		if !strings.Contains(last, `"status":"failed"`) || !strings.Contains(last, reason) {
			return "the job is " + last + ", want it failed: " + reason
		}
		return ""
	}
}

func jobID(body string) string {
	_, after, _ := strings.Cut(body, `"job_ids":["`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// namesWorld is the state in which the attempts are made. theirs contains the names of laboratory 12 that are not in
// the rows of the fixture.
type namesWorld struct {
	theirs map[string]string
	db     *sql.DB
}

// prepareNames creates a name of every kind for laboratory 12, and uses each.
func prepareNames(t *testing.T) *namesWorld {
	t.Helper()
	db, err := sql.Open("mysql", platform.Endpoints.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &namesWorld{map[string]string{"token": "device-of-12", "handed token": "handed-device-of-12"}, db}
	const senders = "INSERT INTO tq_sender (lab_id, channel, sender) VALUES (12, 'sms', 'TWELVE')," +
		" (12, 'email', 'reports@twelve.example'), (12, 'email', 'Twelve Diagnostics')"
	if _, err := db.ExecContext(t.Context(), senders); err != nil {
		t.Fatal(err)
	}
	var format int64
	if err := db.QueryRowContext(t.Context(), "SELECT MIN(id) FROM ReportFormat WHERE testId_id = 55").Scan(&format); err != nil {
		t.Fatal(err)
	}
	w.theirs["format"] = fmt.Sprint(format)
	w.use(t)
	return w
}

// use sends requests of laboratory 12 that use its names.
func (w *namesWorld) use(t *testing.T) {
	t.Helper()
	answer := func(a attempt, into any) string {
		t.Helper()
		status, body := w.send(t, a)
		if status != http.StatusOK {
			t.Fatalf("%s %s: got %d %s, want 200", a.method, a.path, status, body)
		}
		if into != nil {
			if err := json.Unmarshal([]byte(body), into); err != nil {
				t.Fatal(err)
			}
		}
		return body
	}
	us := func(a attempt) attempt { a.as = "us"; return a }
	var subscribed struct{ Topics []string }
	for _, token := range []string{"token", "handed token"} {
		answer(us(post(notes+"fcm/topic/subscribe", `{"token":"`+w.theirs[token]+`"}`)), &subscribed)
	}
	for _, topic := range subscribed.Topics {
		if strings.Contains(topic, "_type_2_lab_12_") {
			w.theirs["topic"] = topic
		}
	}
	if len(w.theirs["topic"]) < len("IN_notification_type_2_lab_12_")+32 {
		t.Fatalf("topics %v, want that of critical results, with a keyed part", subscribed.Topics)
	}
	w.theirs["job"] = jobID(answer(us(post("/schedule",
		"[{"+webhook+`,"sch_time":"{soon}","window_delay":"window-12"}]`).keyed("schedule-of-12")), nil))
	answer(us(post("/queue", "[{"+webhook+"}]").keyed("queue-of-12")), nil)
	answer(us(post("/update_consent", `{"type":"opt_in","cache_key":"consent-12","details_obj":{}}`)), nil)
	answer(us(post("/mapping", `[{"keyword":"word-12","data":{"a":"twelve"}}]`)), nil)
	answer(attempt{method: http.MethodPost, path: notes + "fcm/2/topic/notify?idempotency_key=names-of-12", as: "service",
		body: `{"lab_id":12,"org_id":45,"lrr_id":5000001}`}, nil)
	// Laboratory 13 has no editing session, so that its report may change, and an open rerun to confirm.
	answer(post(edit+"sessions/{n}/end", ""), nil)
	answer(post(rerun+"{n}/request", requests["POST "+rerun+"{report_id}/request"].body), nil)
	upload := cell{"POST " + edit + "agent/{edit_id}", edit + "agent/{edit_id}", "et", "y", 0, owners[0]}
	status, body := upload.send(t)
	var saved struct {
		Word string `json:"word_s3_path"`
	}
	if err := json.Unmarshal([]byte(body), &saved); err != nil || status != http.StatusOK || saved.Word == "" {
		t.Fatalf("a save of laboratory 12: %d %s, want its path", status, body)
	}
	w.theirs["file"] = saved.Word
	_, key, _ := strings.Cut(saved.Word, "labs/12/")
	w.theirs["link"] = platform.Endpoints.Environ["externaledit"]["EXTERNAL_EDIT_BLOB_PUBLIC_URL"] + "/labs/12/" + key
	for _, c := range []string{"TWELVE", "reports@twelve.example"} {
		a := us(task("1", person+`,"senderId":"TWELVE"}`))
		if c != "TWELVE" {
			a = us(mail(`"sender_email":"reports@twelve.example","sender_name":"Twelve Diagnostics"`))
		}
		await.Nil(t, "laboratory 12 may name "+c, func() error {
			if status, body := w.send(t, a); status != http.StatusOK {
				return fmt.Errorf("%d %s", status, body)
			}
			return nil
		})
	}
}

func (w *namesWorld) send(t *testing.T, a attempt) (status int, body string) {
	t.Helper()
	base, login := platform.Endpoints.Gateway, a.sender()
	if login == "service" {
		base, login = platform.Endpoints.GatewayInternal, "sv"
	}
	header := credential(t, login, owners[2])
	header.Set("X-Is-Internal-Request", "True") // the public listener removes it
	header.Set("Content-Type", "application/json")
	if a.key != "" {
		header.Set("Idempotency-Key", a.key)
	}
	address := w.fill(a.path)
	if strings.HasPrefix(address, "/") { // otherwise the address of a file
		address = base + address
	}
	request, err := http.NewRequestWithContext(t.Context(), a.method, address, strings.NewReader(w.fill(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	return exchange(request, wholly)
}

// state returns the rows of laboratory 12 that the attempt's query selects.
func (w *namesWorld) state(t *testing.T, a attempt) string {
	t.Helper()
	if a.state == "" {
		return ""
	}
	rows, err := w.db.QueryContext(t.Context(), a.state)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// theirJobWaits returns a problem if the scheduled job of laboratory 12 has changed.
func (w *namesWorld) theirJobWaits(t *testing.T) string {
	t.Helper()
	_, body := w.send(t, attempt{method: http.MethodPost, path: "/jobInfo", body: `{"id":"{their job}"}`, as: "us"})
	if !strings.Contains(body, `"status":"scheduled"`) || strings.Contains(body, "2026-12-31") {
		return "the job of laboratory 12 is " + body + ", want it scheduled as before"
	}
	return ""
}
