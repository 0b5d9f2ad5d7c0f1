// Package calloutboard tests the board of critical callouts in a browser, against a server of the test. The server
// sends what a platform cannot send on demand: every field of the worklist, responses of older versions without the
// newer fields, and refusals. Package e2e tests the board on the whole platform.
package calloutboard

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/pageassets"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// server serves the page and the callout responses.
type server struct {
	*httptest.Server
	mu       sync.Mutex // guards the fields below
	worklist string
	bodies   map[string]string // response bodies by path
	status   map[string]int    // statuses of refused paths
	saved    map[string]any    // body of the last callout
	changed  chan struct{}     // closed when a field above changes
}

func serve(t *testing.T, worklist string, bodies map[string]string) *server {
	t.Helper()
	s := &server{worklist: worklist, bodies: bodies, status: map[string]int{}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("/callout/", http.StripPrefix("/callout/", http.FileServer(http.Dir("../../../gateway/internal/pages/callout"))))
	mux.Handle("/assets/", http.StripPrefix("/assets/", http.FileServerFS(pageassets.Files())))
	mux.HandleFunc("GET /operation/critical-callout/live", s.live)
	mux.HandleFunc("POST /report/{bill}/critical/callout", s.save)
	mux.HandleFunc("/", s.respond)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections() // ends the event streams
		s.Close()
	})
	return s
}

// change calls what to change the responses, and then sends the new worklist to open boards.
func (s *server) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) live(w http.ResponseWriter, r *http.Request) {
	for begun := false; ; begun = true {
		s.mu.Lock()
		list, summary, changed, refused := s.worklist, s.bodies["summary"], s.changed, s.status[r.URL.Path]
		s.mu.Unlock()
		if refused != 0 {
			if !begun {
				w.WriteHeader(refused)
			}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: worklist\ndata: %s\n\nevent: summary\ndata: %s\n\n", oneLine(list), oneLine(summary))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (s *server) respond(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status := s.status[r.URL.Path]; status != 0 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"You may not see this."}`)
		return
	}
	body, ok := s.bodies[r.URL.Path]
	if !ok {
		body = "{}"
	}
	_, _ = io.WriteString(w, body)
}

func (s *server) save(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = nil
	if err := json.NewDecoder(r.Body).Decode(&s.saved); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, `{"status":"CALLOUT_DONE","reports":[]}`)
}

// waiting returns an open result: report, department, minutes since the detection, escalations and additional fields.
func waiting(report int, department string, minutes, escalations int, more string) string {
	return fmt.Sprintf(`{"lab_report_id":%d,"bill_id":%d,"lab_bill_id":%d,"test_name":"Electrolytes","department_name":%q,"patient_name":"Meena Joshi",
		"lab_patient_id":"ASH-1","org_name":"Sanjeevani","referral_name":"Dr Anand","criticalValues":"CALLOUT_PENDING","escalations":%d,
		"detected_at":"2026-11-26T09:%02d:00Z","due_at":%s,"rerun_pending":false,"notices_off":false,"critical_parameters":[%s]%s}`,
		report, report+1000, report+2000, department, escalations, 60-minutes, map[bool]string{true: `"2026-11-26T10:30:00Z"`, false: "null"}[escalations == 0],
		potassium("7.9"), more)
}

func potassium(value string) string {
	return fmt.Sprintf(`{"parameter_name":"Potassium","raw_value":%q,"unit":"mmol/L","critical_range":"< 2.5 or > 6.5","reference_range":"3.5 - 5.1",
		"index":2,"report_format_id":6602,"flag":"critical_high","value":7.9}`, value)
}

func list(open []string, more string) string {
	return fmt.Sprintf(`{"now":"2026-11-26T10:00:00Z","time_zone":"Asia/Kolkata","limit_reached":false,"quiet_since":null,"open":[%s]%s}`,
		strings.Join(open, ","), more)
}

const (
	corrected = `{"lab_report_id":31,"bill_id":1031,"lab_bill_id":2031,"test_name":"Electrolytes","department_name":"Biochemistry","patient_name":"Ravi Rao",
		"lab_patient_id":"ASH-3","org_name":"Sanjeevani","referral_name":"Dr Anand","told_at":"2026-11-26T09:00:00Z","called_at":null,"called_parameters":[`
	unclear = `{"lab_report_id":41,"parameter_name":"Potassium","raw_value":"Haemolysed","bill_id":1041,"lab_bill_id":2041,"test_name":"Electrolytes",
		"department_name":"Biochemistry","critical_range":"< 2.5 or > 6.5","unit":"mmol/L","since":"2026-11-26T08:00:00Z"}`
	unconfirmed = `{"lab_report_id":51,"bill_id":1051,"lab_bill_id":2051,"test_name":"Electrolytes","department_name":"Biochemistry","patient_name":"Asha Kale",
		"lab_patient_id":"ASH-5","received_at":"2026-11-26T09:10:00Z","critical_parameters":[`
	summary = `{"open":3,"overdue":2,"called":9,"median_minutes_to_callout":12,"limit_minutes":30`
	logs    = "/report/bulk/critical-notification/logs"
)

// older returns the responses of a server without the newer fields.
func older() (worklist string, bodies map[string]string) {
	return list([]string{waiting(11, "Biochemistry", 5, 0, "")}, `,"unclear":[`+unclear+`],"corrected":[`+corrected+potassium("7.1")+`]}]`),
		map[string]string{
			"summary": summary + "}", logs: `{"logs":[]}`, "/report/1011/critical/records": `{"reports":[],"attempted_callout":{}}`,
			"/operation/critical-callout/settings": `{"escalate_minutes":30,"escalate_most":3,"read_back_needed":true,"repeat_within_hours":0}`,
		}
}

func newer() (worklist string, bodies map[string]string) {
	_, bodies = older()
	bodies["summary"] = summary + `,"elsewhere":2}`
	bodies["/operation/critical-callout/settings"] = `{"escalate_minutes":30,"escalate_most":3,"read_back_needed":true,"repeat_within_hours":24,"remind_hours":8}`
	bodies["/report/1021/critical/records"] = `{"reports":[{"critical_parameters":[],"lab_report":{"labReportId":21,"reportID":{"testName":"Electrolytes"}}}],
		"attempted_callout":{"attempts":[{"lab_report_id":21,"recipients":["Referral Doctor"],"critical_callout_comment":"ward did not <b>respond</b>",
			"critical_values_meta":{},"critical_callout_meta":{"notified_person":"Nurse Mary"},"created_on":"2026-11-26T09:40:00Z"}]},
		"suppressed":[{"critical_parameters":[` + potassium("7.0") + `],"lab_report_id":22,"reportID":{"testName":"Renal profile"},
			"reason":"called within 24 hours and not worse since","called_at":"2026-11-26T07:00:00Z"}]}`
	return list([]string{
		waiting(11, "Biochemistry", 5, 0, ""),
		waiting(21, "Serology", 55, 3, `,"next_reminder_at":"2026-11-26T14:00:00Z"`),
		waiting(12, "Haematology", 50, 1, ""),
	}, `,"elsewhere":2,"notices_unavailable":{"reason":"no_device","since":"2026-11-26T08:30:00Z"},"unclear_limit_reached":true,
			"corrected_limit_reached":true,"unclear":[`+unclear+`],"unconfirmed":[`+unconfirmed+potassium("8.9")+`]}],
			"corrected":[`+corrected+potassium("7.1")+`],"notified_persons":["Nurse Mary","Dr Anand"],"notice_sent":false}]`), bodies
}

const text = `document.getElementById(%q).textContent`

func show(t *testing.T, s *server) *browser.Page {
	t.Helper()
	p := browser.Visit(t, s.URL+"/callout/", "")
	p.Await("the board", `document.getElementById("state").textContent.startsWith("Up to date")`)
	return p
}

func want(p *browser.Page, id string, parts ...string) {
	p.T.Helper()
	got := p.Eval(fmt.Sprintf(text, id))
	for _, part := range parts {
		if !strings.Contains(got, part) {
			p.T.Errorf("#%s = %q, want it to contain %q", id, got, part)
		}
	}
}

func wantClean(p *browser.Page) {
	p.T.Helper()
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		p.T.Errorf("errors = %q, requests to other hosts = %q, want none", errors, foreign)
	}
}

func TestCalloutBoardShowsEveryField(t *testing.T) {
	s := serve(t, "", nil)
	s.worklist, s.bodies = newer()
	p := show(t, s)
	want(p, "notices", "Notices cannot be sent (since ", "26, 2026, 14:00).", "No device of the laboratory is registered", "Call by telephone; no one is notified automatically.")
	want(p, "elsewhere", "2 wait in departments that you do not see.")
	want(p, "figures", "3 open, 2 overdue, 2 elsewhere")
	p.Await("the rules", fmt.Sprintf(text+`.includes("every 30 min, 3 × at most, then every 8 h.")`, "rules"))
	want(p, "unconfirmed", "not confirmed (1)", "Potassium 8.9 mmol/L", "Asha Kale", "bill 2051", "14:40")
	want(p, "unclear", "Potassium Haemolysed", "only 100 reports")
	want(p, "corrected", "Was called: Potassium 7.1", "Correction not sent, no call recorded.", "Call Nurse Mary, Dr Anand.", "only the latest 100 reports")
	if hidden := p.Eval(`["notices", "elsewhere", "unclear-limit", "corrected-limit", "unconfirmed"].filter((id) => document.getElementById(id).hidden)`); hidden != "" {
		t.Errorf("hidden = %s, want none", hidden)
	}
	order := p.Eval(`[...document.querySelectorAll("#board h2, #board [data-report]")].map((e) => e.dataset.report ?? e.textContent).join("; ")`)
	if want := "Overdue (2); 21; 12; Biochemistry (1); 11"; order != want {
		t.Errorf("the board lists %q, want %q", order, want)
	}
	if card := p.Eval(`document.querySelector('[data-report="21"]').textContent`); !strings.Contains(card, "Serology · Dr Anand") || !strings.Contains(card, "next reminder") || !strings.Contains(card, "19:30") {
		t.Errorf("the card says %q, want its department and the next reminder at 19:30", card)
	}
	p.Pictures("board")
	p.Eval(`document.querySelector('[data-report="21"]').click()`)
	p.Await("the lines of the bill", `document.querySelectorAll("#bill-list li").length === 2`)
	want(p, "bill", "Tried, not reached · Electrolytes", "Nurse Mary · Referral Doctor · ward did not <b>respond</b>", "Needs no call · Potassium 7.0 mmol/L · Renal profile · called within 24 hours and not worse since · called")
	p.Pictures("board-dialog")
	p.Eval(`document.getElementById("close").click()`)
	p.Eval(`document.querySelector('#corrected button').click()`)
	p.Await("the person who was informed", `document.getElementById("person").value === "Nurse Mary"`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the callout is recorded", `!document.getElementById("dialog").open`)
	wantClean(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saved["force"] != true || s.saved["notified_person"] != "Nurse Mary" {
		t.Errorf("saved = %v, want a callout with force to Nurse Mary", s.saved)
	}
}

// The page and the service are deployed separately, so the page must work with responses of an older service.
func TestCalloutBoardWorksWithoutTheNewerFields(t *testing.T) {
	s := serve(t, "", nil)
	s.worklist, s.bodies = older()
	p := show(t, s)
	if shown := p.Eval(`["notices", "elsewhere", "unclear-limit", "corrected-limit", "unconfirmed"].filter((id) => !document.getElementById(id).hidden)`); shown != "" {
		t.Errorf("shown = %s, want none of them", shown)
	}
	p.Await("the rules", fmt.Sprintf(text+`.endsWith("every 30 min, 3 × at most.")`, "rules"))
	want(p, "board", "Biochemistry (1)", "Potassium 7.9 mmol/L")
	want(p, "corrected", "Correction sent", "14:30", "no call recorded")
	if all := p.Eval("document.body.innerText"); strings.Contains(all, "undefined") || strings.Contains(all, "Invalid Date") || strings.Contains(all, "null") {
		t.Errorf("the page says %s, want no trace of missing fields", all)
	}
	p.Pictures("board-older")
	p.Eval(`document.querySelector('[data-report="11"]').click()`)
	p.Await("the history", fmt.Sprintf(text+` === "Nothing yet."`, "history"))
	if p.Eval(`document.getElementById("bill").hidden`) != "true" {
		t.Error("lines of the bill are shown, want none")
	}
	wantClean(p)
}

// TestCalloutBoardShowsThatAListWasCut checks the lines below lists that were cut. They must also be shown to a department
// of which the list has no entry.
func TestCalloutBoardShowsThatAListWasCut(t *testing.T) {
	s := serve(t, "", nil)
	_, s.bodies = older()
	reruns := func(n int) string {
		return `,"unconfirmed":[` + strings.Repeat(unconfirmed+potassium("8.9")+`]},`, n-1) + unconfirmed + potassium("8.9") + `]}]`
	}
	s.worklist = list([]string{waiting(11, "Serology", 5, 0, "")}, reruns(99)+`,"unclear_limit_reached":true,"unclear":[`+unclear+`]`)
	p := show(t, s)
	const hidden = `document.getElementById(%q).hidden`
	if p.Eval(fmt.Sprintf(hidden, "unconfirmed-limit")) != "true" {
		t.Error("#unconfirmed-limit is shown for 99 reports, want it hidden")
	}
	s.change(func() {
		s.worklist = list([]string{waiting(11, "Serology", 5, 0, "")}, reruns(100)+`,"unclear_limit_reached":true,"unclear":[`+unclear+`]`)
	})
	p.Await("the list of 100 reports", fmt.Sprintf("!"+hidden, "unconfirmed-limit"))
	want(p, "unconfirmed", "not confirmed (100)", "There may be more: only the latest 100 reports are listed.")
	p.Eval(`((d) => { d.value = "Serology"; d.dispatchEvent(new Event("change")); })(document.getElementById("department"))`)
	for _, section := range []string{"unconfirmed", "unclear"} {
		want(p, section, "(0)", "only")
		if p.Eval(fmt.Sprintf(hidden, section)) != "false" {
			t.Errorf("#%s is hidden for Serology, want what was cut", section)
		}
	}
	if p.Eval(fmt.Sprintf(hidden, "corrected")) != "true" {
		t.Error("#corrected is shown, want it hidden: it is complete and empty")
	}
	wantClean(p)
}

func TestCalloutBoardFollowsChanges(t *testing.T) {
	s := serve(t, "", nil)
	s.worklist, s.bodies = older()
	p := show(t, s)
	for reason, part := range map[string]string{
		"unavailable": "The notification service is not available.", "type_off": "switched notifications of critical reports off",
		"push_off": "sends no messages to phones", "no_device": "No device", "push_waits": "configures them", "some_day": "cannot be sent",
	} {
		s.change(func() {
			s.worklist = list(nil, `,"elsewhere":1,"notices_unavailable":{"reason":"`+reason+`","since":"2026-11-26T08:30:00Z"}`)
		})
		p.Await(reason, fmt.Sprintf(text+`.includes(%q) && !document.getElementById("notices").hidden`, "notices", part))
	}
	want(p, "elsewhere", "1 waits in a department that you do not see.")
	want(p, "board", "No critical result of your departments waits for a call.")
	p.Eval(`document.getElementById("sound").click()`)
	s.change(func() {
		s.worklist = list(nil, `,"unconfirmed":[`+unconfirmed+potassium("8.9")+`]}],"notices_unavailable":null`)
	})
	p.Await("a sound for the value of a rerun", `document.body.dataset.sounded === "1" && !document.getElementById("unconfirmed").hidden`)
	p.Await("the banner is hidden", `document.getElementById("notices").hidden && document.getElementById("elsewhere").hidden`)
	wantClean(p)
	s.change(func() {
		for _, path := range []string{"live", "open", "settings"} {
			s.status["/operation/critical-callout/"+path] = http.StatusForbidden
		}
	})
	p.Await("nothing is left", `document.getElementById("state").textContent === "You may not see this." && document.getElementById("unconfirmed").hidden &&
		!document.body.innerText.includes("Asha") && document.getElementById("rules").textContent === ""`)
}
