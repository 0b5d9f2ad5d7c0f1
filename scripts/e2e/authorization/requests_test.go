package authorization

// request is the body and the kind of an operation's request. Names in braces are fields of the owner; {n} is the
// number of the owner's report, bill, patient, editing session, save and notification.
type request struct {
	body string
	kind kind
}

// kind is a set of properties of a request.
type kind int

const (
	list     kind = 1 << iota // one response about all owners
	words                     // an allowed response contains the marker word of each owner that the caller may see
	fresh                     // an allowed request changes its object, so each cell gets its own
	unopened                  // as fresh, and the report has no open editing session
	stream                    // the response does not end by itself
	pipeline                  // needs the search index
	upload                    // the body is a form with files
)

const (
	edit     = "/api-v3/report/external-edit/"
	rerun    = "/api-v3/sample-rerun/"
	counter  = "/api-v3/cell-counter-mappings/"
	callouts = "(/api-v3)/operation/critical-callout"
	split    = "/api-v3/finance/bill/split/{bill_id}"
	notes    = "/api-v3/notifications/"

	sms      = `"task":1,"task_type":1,"data":{"contact":9812345678,"countryCode":91,"message":"m"},"log_tag":"{word}"`
	webhook  = `"task":4,"task_type":2,"data":{"url":"https://receiver.example/in"},"log_tag":"{word}"`
	oneCell  = `"mappings":[{"key":"q","cell_id":1,"report_format_index":{index},"report_format_order":{index}}]}`
	noJob    = `{"job_id":"00000000000000000000000000000","resc_at":"{soon}"}`
	switches = `{"notification_types":[{"id":1,"is_disabled":false}]}`
	values   = `{"sample_id":"S{n}","device_id":"D","device_name":"{word}","rerun_type":"auto_rerun","rerun_number":-1,` +
		`"lab_report_id":{n},"device_data":[{"index":{index},"value":"5.0"}]}`
	confirm = `{"rerun_confirmed_data":[{"profileTestId":0,"value":"6.1","order":1,"index":{index},"highlight":1,` +
		`"automatedValue":1,"reportForId_id":{n},"parameter_name":"p"}]}`
	draft = `{"is_draft":true,"lab_report_ids":[{n}],"recipients":["Referral Doctor"],` +
		`"communication_methods":["call"],"critical_callout_comment":"{word}"}`
)

// requests maps operations, by their names in the table, to requests that need more than a path.
var requests = map[string]request{
	"POST /api/v1/users/search":   {`{"query":"Zzcanary"}`, list | words | pipeline},
	"GET /api/v1/users/{user_id}": {"", words | pipeline},
	"GET /api/v1/lookup":          {"", words | pipeline},
	"GET /api/v1/login":           {"", pipeline},

	"GET " + edit + "{id}":                                             {"", words},
	"POST " + edit + "{id}":                                            {`{"template_id":{template},"word_s3_filepath":"templates/report.docx"}`, fresh | unopened},
	"PUT " + edit + "{id}":                                             {"", fresh},
	"POST " + edit + "sessions/{edit_id}/end":                          {"", fresh},
	"POST " + edit + "agent/{edit_id}":                                 {"", fresh | upload},
	"GET " + edit + "{lab_report_id}/events":                           {"", stream},
	"GET " + edit + "{lab_report_id}/revisions":                        {"", words},
	"POST " + edit + "{lab_report_id}/revisions/{revision_id}/restore": {"", fresh | unopened},

	"GET " + edit + "held": {"", list | words},

	"GET " + rerun + "{lab_report_id}":          {"", words},
	"POST " + rerun + "{report_id}/new":         {values, 0},
	"POST " + rerun + "{report_id}/request":     {`{"type":"Manual","rerun_number":"1","requested_parameters":"[{index}]","is_active":true}`, fresh},
	"POST " + rerun + "{lab_report_id}/confirm": {confirm, fresh},
	"POST " + rerun + "{lab_report_id}/abort":   {"", fresh},
	"POST " + rerun + "{lab_report_id}/auto":    {`{"device_data":[{"index":{index},"value":"5.0"}]}`, 0},

	"POST /queue":            {"[{" + sms + "}]", 0},
	"POST /schedule":         {"[{" + sms + `,"sch_time":"{soon}"}]`, 0},
	"POST /queue#webhook":    {"[{" + webhook + "}]", 0},
	"POST /schedule#webhook": {"[{" + webhook + `,"sch_time":"{soon}"}]`, 0},
	"POST /jobInfo":          {`{"id":"{job}"}`, words},
	"POST /cancelJob":        {noJob, 0},
	"POST /rescheduleJob":    {noJob, 0},
	"POST /retryTask":        {"[" + noJob + "]", 0},
	"POST /mapping":          {`[{"keyword":"k","data":{"a":1}}]`, 0},
	"POST /update_consent":   {`{"type":"opt_in","cache_key":"authorization","details_obj":{}}`, 0},

	"POST " + counter + "{test_id}":                       {`{"lab_id":{lab},` + oneCell, 0},
	"POST " + counter + "{test_id}#defaults":              {"{" + oneCell, 0},
	"PATCH " + counter + "{test_id}":                      {`{"lab_id":{lab},` + oneCell, 0},
	"PATCH " + counter + "{test_id}#defaults":             {"{" + oneCell, 0},
	"POST " + counter + "{test_id}/differential":          {`{"counts":[{"cell_id":1,"count":100}]}`, 0},
	"GET " + counter + "{test_id}/counts/{lab_report_id}": {"", words},
	"PUT " + counter + "{test_id}/counts/{lab_report_id}": {`{"observer":2,"counts":[{"cell_id":1,"count":100}]}`, fresh},

	"GET " + counter + "waiting": {"", list | words},

	"GET (/api-v3)/report/{bill_id}/critical/records":      {"", words},
	"GET (/api-v3)/report/bulk/critical-notification/logs": {"", list | words},
	"POST " + callouts:                                 {`{"lab_report_ids":[{all}]}`, list | words},
	"GET " + callouts + "/open":                        {"", list | words},
	"GET " + callouts + "/live":                        {"", list | words | stream},
	"PUT " + callouts + "/settings":                    {`{"escalate_minutes":30}`, 0},
	"PUT " + callouts + "/claims/{lab_report_id}":      {"{}", fresh},
	"POST (/api-v3)/report/{bill_id}/critical/callout": {draft, fresh},

	"POST " + split:                {`{"test_ids":[{n}1]}`, fresh},
	"POST " + split + "#validate":  {`{"test_ids":[{n}1],"is_validate":true}`, 0},
	"POST " + split + "#calculate": {`{"test_ids":[{n}1],"is_calculate":true}`, 0},
	"GET " + split + "/family":     {"", words},

	"GET /api-v3/finance/bill/split/today": {"", list | words},

	"GET " + notes + "all":                                 {"", list | words},
	"POST " + notes + "notification-type/bulk":             {switches, 0},
	"POST " + notes + "notification-type/user-preferences": {`{"labUserId":{user},"userNotificationPreferences":"[{\"id\":2,\"is_disabled\":0}]"}`, 0},
	"POST " + notes + "fcm/topic/subscribe":                {`{"token":"device-{login}","platform":"web"}`, 0},
	"POST " + notes + "fcm/topic/unsubscribe":              {`{"token":"device-{login}"}`, 0},
	"GET " + notes + "live":                                {"", list | words | stream},
}

// beforeFresh is a query that excludes the cells' own objects from a list of which only one page is read.
const beforeFresh = "?limit=200&before=5000004"

// queries maps operations to the queries of their paths.
var queries = map[string]string{
	"GET /api/v1/lookup":                                   "?bill_id={n}",
	"GET " + edit + "held":                                 beforeFresh,
	"GET " + counter + "waiting":                           beforeFresh,
	"GET /api-v3/finance/bill/split/today":                 beforeFresh,
	"GET " + counter + "{test_id}#lab_id":                  "?lab_id={lab}",
	"DELETE " + counter + "{test_id}":                      "?lab_id={lab}&confirm=reset",
	"DELETE " + counter + "{test_id}/{key}":                "?lab_id={lab}",
	"GET (/api-v3)/report/bulk/critical-notification/logs": "?report_ids={all}",
}
