package queuepage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/taskqueue/internal/app/queuepage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const token = "a-token-for-the-tests-of-the-page"

// site is the page over the in-memory engine, with its log.
type site struct {
	*httptest.Server
	t   *testing.T
	ids []job.ID
	log *bytes.Buffer

	queue *enginetest.Model
}

// open serves the page for n scheduled SMS of laboratory 12, with secret texts.
func open(t *testing.T, tokens string, payloads bool, n int) *site {
	t.Helper()
	ids, queue := job.NewGenerator(clock.System{}), enginetest.New(clock.System{}, engine.DefaultSettings())
	s := &site{t: t, log: &bytes.Buffer{}, queue: queue}
	for range n {
		id := ids.Next(0, job.Lane{Channel: job.SMS, Priority: job.High})
		body := job.Body{LabID: 12, Flow: job.LabFlow(12), LogTag: "secret tag", WindowKey: "secret window", Caller: "user:77",
			Data: []byte(`{"contact":9812345678,"message":"secret text"}`), Subscribe: "https://told.example/secret-path?token=secret",
			LastError: "secret error", LastReason: "http_503", History: []job.Attempt{{Error: "secret error", Reason: "http_503"}}}
		due := clock.System{}.Now().Add(time.Hour).UnixMilli()
		if _, err := queue.Enqueue(t.Context(), engine.Batch{IdempotencyKey: string(id), RequestHash: "h", KeepKey: time.Minute,
			Jobs: []engine.NewJob{{ID: id, Flow: body.Flow, DueMs: due, Body: body.Encode(nil)}}}); err != nil {
			t.Fatal(err)
		}
		s.ids = append(s.ids, id)
	}
	jobs := &manage.Jobs{Queue: queue, Lease: time.Second, Clock: clock.System{}, IDs: ids}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	s.Server = httptest.NewServer(queuepage.Handler(
		&operate.Operator{Queue: queue, Jobs: jobs, Clock: clock.System{}, Audit: log, ShowPayloads: payloads},
		config.Secret(tokens), log))
	t.Cleanup(s.Close)
	return s
}

func (s *site) call(method, path, body string, header ...string) (int, string, http.Header) {
	s.t.Helper()
	q, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+queuepage.Path+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := s.Client().Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

var paths = map[string]string{"api/overview": "GET", "api/ahead": "GET", "api/jobs": "GET", "api/jobs/x": "GET", "api/pause": "POST",
	"api/preview": "POST", "api/apply": "POST"}

func TestEveryCallNeedsTheToken(t *testing.T) {
	t.Parallel()
	s := open(t, token, false, 1)
	for path, method := range paths {
		for _, given := range []string{"", "Bearer ", "Bearer wrong", "Bearer " + token + "x", "Basic " + token} {
			if code, body, _ := s.call(method, path, "{}", "Authorization", given); code != http.StatusUnauthorized || !strings.Contains(body, "TASKQUEUE_ADMIN_TOKEN") {
				t.Errorf("%s with %q: %d %s", path, given, code, body)
			}
		}
	}
	if code, body, _ := s.call("GET", "api/overview", "", "Authorization", "Bearer "+token); code != 200 || !strings.Contains(body, `"scheduled":1`) {
		t.Errorf("%d %s", code, body)
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the log tells the token")
	}
}

// unreachable is a queue whose Redis does not respond.
type unreachable struct{ *enginetest.Model }

func (unreachable) Depths(context.Context, int) (engine.Depths, error) {
	return engine.Depths{}, errors.New("dial tcp 10.0.0.7:6379: connection refused")
}

func TestWhyThePageCannotAnswerIsInTheLogAlone(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := &operate.Operator{Queue: unreachable{enginetest.New(clock.System{}, engine.DefaultSettings())}, Clock: clock.System{}}
	s := &site{t: t, Server: httptest.NewServer(queuepage.Handler(o, "", slog.New(slog.NewTextHandler(&log, nil))))}
	defer s.Close()
	code, body, _ := s.call("GET", "api/overview", "")
	if code != http.StatusServiceUnavailable || strings.Contains(body, "10.0.0.7") {
		t.Errorf("%d %s", code, body)
	}
	if !strings.Contains(log.String(), "10.0.0.7:6379: connection refused") {
		t.Errorf("the log does not say why: %s", &log)
	}
}

func TestDuringARotationBothTokensCount(t *testing.T) {
	t.Parallel()
	s := open(t, "the-new-token-of-operators,"+token, false, 1)
	for given, want := range map[string]int{
		"the-new-token-of-operators": 200, token: 200, "": 401, "the-new-token-of-operators," + token: 401,
	} {
		if code, body, _ := s.call("GET", "api/overview", "", "Authorization", "Bearer "+given); code != want {
			t.Errorf("%q: %d %s", given, code, body)
		}
	}
}

func TestNothingThatCallersWroteIsShownUnlessASettingAllowsIt(t *testing.T) {
	t.Parallel()
	for _, shown := range []bool{false, true} {
		s := open(t, "", shown, 2)
		for _, to := range []job.Destination{job.Via(job.SMS, "twilio"), job.ToPath(12, "https://left.example:443", "/secret-path")} {
			if err := s.queue.Hold(t.Context(), to, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		all := ""
		for _, path := range []string{"api/overview", "api/ahead", "api/jobs", "api/jobs?states=retrying,scheduled", "api/jobs/" + string(s.ids[0])} {
			code, body, _ := s.call("GET", path, "")
			if code != 200 {
				t.Errorf("%s: got %d %s, want 200", path, code, body)
			}
			if strings.Contains(body, ":null") {
				t.Errorf("%s: null where the page reads a list or an object: %s", path, body)
			}
			all += body
		}
		if !strings.Contains(all, `"channel":"sms","provider":"twilio"`) || !strings.Contains(all, `"lab_id":12,"receiver":"https://left.example:443"`) {
			t.Errorf("what is paused: got %s", all)
		}
		if !strings.Contains(all, "https://told.example") || !strings.Contains(all, "http_503") || strings.Contains(all, "secret-path") {
			t.Errorf("origin and reason: %s", all)
		}
		if strings.Contains(all, "secret text") != shown || strings.Contains(all, "9812345678") != shown || strings.Contains(all, "secret tag") != shown {
			t.Errorf("payloads shown %v: %s", !shown, all)
		}
		if strings.Contains(all, "secret window") {
			t.Errorf("the window's key is shown: %s", all)
		}
	}
}

func TestManyJobsArePreviewedCancelledAndLogged(t *testing.T) {
	t.Parallel()
	s := open(t, "", false, 12)
	code, body, _ := s.call("POST", "api/preview", `{"operator":"a.rao","action":"cancel","lab_id":12,"channel":"sms"}`)
	var p struct {
		Matched         int
		First           []job.ID
		Next            string
		CreatedBeforeMs int64 `json:"created_before_ms"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil || code != 200 || p.Matched != 12 || len(p.First) != 10 || p.Next != "" {
		t.Fatalf("%d %s %v", code, body, err)
	}
	order := fmt.Sprintf(`{"operator":"a.rao","ticket":"INC-42","action":"cancel","lab_id":12,"channel":"sms","created_before_ms":%d}`, p.CreatedBeforeMs)
	if code, body, _ = s.call("POST", "api/apply", order); code != 200 || !strings.Contains(body, `"done":12`) {
		t.Errorf("%d %s", code, body)
	}
	for _, want := range []string{"operator=a.rao", "ticket=INC-42", "action=cancel", "done=12"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log does not say %s: %s", want, s.log)
		}
	}
	if strings.Contains(s.log.String(), "secret") {
		t.Errorf("got patients in the log, want none: %s", s.log)
	}
}

func TestWrongOrdersSayWhatToDo(t *testing.T) {
	t.Parallel()
	s := open(t, "", false, 1)
	for body, want := range map[string]string{
		`{`:                                     "load the page again",
		`{"surprise":1}`:                        "load the page again",
		`{"action":"cancel"}`:                   "say who you are",
		`{"operator":"a patient called Rahul"}`: "say who you are",
		`{"operator":"a.rao","ticket":"Rahul has called"}`:               "the ticket is one word",
		`{"operator":"a.rao","action":"burn","lab_id":12}`:               "cancel, retry, delete, sent or not_sent",
		`{"operator":"a.rao","action":"cancel"}`:                         "name a laboratory or a channel",
		`{"operator":"a.rao","action":"retry","lab_id":-1}`:              "above 0",
		`{"operator":"a.rao","older_than_minutes":-5}`:                   "0 minutes to a year",
		`{"operator":"a.rao","action":"cancel","channel":"fax"}`:         "no channel",
		`{"operator":"a.rao","action":"cancel","lab_id":1,"cursor":"x"}`: "search again",
	} {
		if code, text, _ := s.call("POST", "api/preview", body); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %q", body, code, text, want)
		}
	}
	if code, text, _ := s.call("POST", "api/apply", `{"operator":"a.rao","action":"cancel","lab_id":12}`); code != 400 || !strings.Contains(text, "preview first") {
		t.Errorf("%d %s", code, text)
	}
	if code, _, _ := s.call("GET", "api/jobs/nothing", ""); code != http.StatusNotFound {
		t.Errorf("an unknown job: %d", code)
	}
	if code, _, _ := s.call("POST", "api/apply", `{}`, "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("another site: %d", code)
	}
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	s := open(t, token, false, 0)
	for path, want := range map[string]string{"": "<title>Queue</title>", "lab.css": "prefers-color-scheme: dark", "queue.css": "svg.spark", "api.js": "sessionStorage",
		"main.js": "import", "board.js": "export", "jobs.js": "export", "bulk.js": "export"} {
		code, body, header := s.call("GET", path, "")
		if code != 200 || !strings.Contains(body, want) || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, code, header)
		}
		body = strings.ReplaceAll(body, "http://www.w3.org/2000/svg", "") // a namespace, not an address
		if strings.Contains(body, "http://") || strings.Contains(body, "https://") || strings.Contains(body, "innerHTML") {
			t.Errorf("%s reaches elsewhere", path)
		}
	}
}
