package sms_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/sms"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

type fixed time.Time

func (f fixed) Now() time.Time { return time.Time(f) }

const jobID = job.ID("00201KABCDEFGHJKMNPQRSTVWXYZ0")

// seen is a request received by the fake provider.
type seen struct {
	Method, Path, Query, Auth, Kind, Body string
}

// api is a fake provider API. The test sets its responses.
type api struct {
	*httptest.Server

	mu       sync.Mutex
	requests []seen
	status   int
	body     string
	header   http.Header
	drop     bool
}

func serve(t *testing.T) *api {
	t.Helper()
	a := &api{status: http.StatusOK}
	a.Server = httptest.NewServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.Close)
	return a
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)})
	if a.drop {
		panic(http.ErrAbortHandler)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func (a *api) say(status int, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status, a.body = status, body
}

func (a *api) take() []seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.requests
	a.requests = nil
	return list
}

func deps(t *testing.T) provider.Deps {
	t.Helper()
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
	t.Cleanup(client.Close)
	return provider.Deps{API: client, Clock: fixed(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)),
		Secrets: provider.Directory{Root: fstest.MapFS{"token": {Data: []byte("s3cr&t")}}}}
}

func gateway(t *testing.T, settings map[string]any) (*sms.Provider, error) {
	t.Helper()
	if settings["success"] == nil {
		settings["success"] = map[string]any{"statuses": []int{200}}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	return sms.NewGateway(raw, deps(t))
}

func delivery(data string) worker.Delivery {
	return worker.Delivery{ID: jobID, Attempt: 1, Body: &job.Body{Task: 1, TaskType: 1, Data: []byte(data)}}
}

const otp = `{"contact":"09812345678","countryCode":91,"message":"Your \"code\" & more: 123456 é","otp":123456,"senderId":"ASHALB"}`

func TestAGatewayGetsWhatItsTemplateSays(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.body = `{"data":[{"id":9007199254740993}],"status":"ok"}`
	for _, c := range []struct {
		name     string
		settings map[string]any
		want     seen
	}{
		{"JSON", map[string]any{"kind": "http", "url": a.URL + "/v1/send", "headers": map[string]string{"Authorization": `Bearer {{secret "token"}}`},
			"body":       `{"to":{{json .To}},"text":{{json .Message}},"unicode":{{.Unicode}},"parts":{{.Parts}},"ref":{{json .JobID}}}`,
			"message_id": "data.0.id", "success": map[string]any{"field": "status", "values": []string{"ok"}}},
			seen{"POST", "/v1/send", "", "Bearer s3cr&t", "application/json",
				`{"to":"+919812345678","text":"Your \"code\" \u0026 more: 123456 é","unicode":false,"parts":1,"ref":"` + string(jobID) + `"}`}},
		{"query", map[string]any{"method": "GET", "url": a.URL + `/{{path .Type}}?key={{secret "token" | query}}&to={{.Digits}}&from={{query .Sender}}&text={{query .Message}}`,
			"message_id": "data.0.id"},
			seen{"GET", "/OTP", "key=s3cr%26t&to=919812345678&from=ASHALB&text=Your+%22code%22+%26+more%3A+123456+%C3%A9", "", "", ""}},
		{"form", map[string]any{"url": a.URL + "/", "headers": map[string]string{"content-type": "application/x-www-form-urlencoded"},
			"body": `n={{.Number}}&c={{.Country}}&m={{query .Message}}`, "message_id": "data.0.id"},
			seen{"POST", "/", "", "", "application/x-www-form-urlencoded", "n=9812345678&c=91&m=Your+%22code%22+%26+more%3A+123456+%C3%A9"}},
	} {
		g, err := gateway(t, c.settings)
		if err != nil {
			t.Errorf("%s: got error %v, want none", c.name, err)
			continue
		}
		result, err := g.Handle(t.Context(), delivery(otp))
		if err != nil || !result.Sent || result.MessageID != "9007199254740993" || result.HTTPStatus != 200 || result.Excerpt != "" {
			t.Errorf("%s: %+v, %v", c.name, result, err)
		}
		if diff := cmp.Diff([]seen{c.want}, a.take()); diff != "" {
			t.Errorf("%s: got %s, want none", c.name, diff)
		}
	}
}

func TestTemplatesThatForgetAnEscapeAreRefusedWhenTheyAreRead(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]any{
		"JSON by hand":         {"url": "https://x.test/", "body": `{"text":"{{.Message}}"}`},
		"query by hand":        {"url": "https://x.test/?text={{.Message}}"},
		"form by hand":         {"url": "https://x.test/", "headers": map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "body": "m={{.Message}}"},
		"a header of the text": {"url": "https://x.test/", "headers": map[string]string{"X-Text": "{{.Message}}"}},
		"a host of the text":   {"url": "https://{{.Sender}}/"},
		"a host grown by text": {"url": "https://x.test{{.Sender}}/"},
		"no scheme":            {"url": "x.test/"},
		"an unknown field":     {"url": "https://x.test/{{.Contact}}"},
		"an unknown function":  {"url": "https://x.test/{{html .Message | shell}}"},
		"an unknown secret":    {"url": "https://x.test/", "headers": map[string]string{"X-Key": `{{secret "missing"}}`}},
		"half a success rule":  {"url": "https://x.test/", "success": map[string]any{"field": "status"}},
		"no rule of success":   {"url": "https://x.test/", "success": map[string]any{}},
		"a broken text rule":   {"url": "https://x.test/", "success": map[string]any{"text": "("}},
		"a broken failure":     {"url": "https://x.test/", "failure": map[string]any{"text": "["}},
		"a broken message":     {"url": "https://x.test/", "failure": map[string]any{"message": "["}},
		"a strange method":     {"url": "https://x.test/", "method": "DELETE"},
		"a misspelt setting":   {"url": "https://x.test/", "bdoy": "x"},
	} {
		if _, err := gateway(t, settings); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestATextTooLongForARequestSaysNothingAboutTheGateway: a gateway takes texts in its URL. A few long texts of one
// laboratory must not pause the gateway, because it also sends the one-time passwords of all others.
func TestATextTooLongForARequestSaysNothingAboutTheGateway(t *testing.T) {
	t.Parallel()
	a := serve(t)
	g, err := gateway(t, map[string]any{"method": "GET", "url": a.URL + "/?text={{query .Message}}&first={{slice .Message 0 2 | query}}"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"too long": strings.Repeat("न", 300), "not as the template needs it": "1"} {
		_, err := g.Handle(t.Context(), delivery(`{"contact":9812345678,"countryCode":91,"message":"`+text+`"}`))
		if f := job.AsFailure(err); provider.Outcome(err) != "elsewhere" || !f.OfMessage || len(a.take()) != 0 {
			t.Errorf("%s: %+v; want another provider to be asked, and no pause of this one", name, f)
		}
	}
}

func TestAnswersOfAGatewayHaveTheirClass(t *testing.T) {
	t.Parallel()
	a := serve(t)
	g, err := gateway(t, map[string]any{"url": a.URL + "/", "body": `{}`, "success": map[string]any{"statuses": []int{200, 202}, "field": "ok", "values": []string{"true"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{200, `{"ok":true}`, "sent"}, {202, `{"ok":"true"}`, "sent"}, {200, `{"ok":false}`, "elsewhere"}, {200, `not JSON`, "unknown"}, {200, `{"o":true}`, "unknown"},
		{200, "\xef\xbb\xbf" + `{"ok":true}`, "sent"}, {200, `{"ok":tr`, "unknown"}, {200, "\x1f\x8b\x08 packed", "unknown"}, {200, "", "unknown"},
		{201, `{"ok":true}`, "elsewhere"}, {400, "", "permanent"}, {401, "", "elsewhere"}, {429, "", "postponed"}, {500, "", "retry"},
		{502, "", "unknown"}, {503, "", "retry"}, {504, "", "unknown"},
	} {
		a.say(c.status, c.body)
		result, err := g.Handle(t.Context(), delivery(otp))
		if provider.Outcome(err) != c.want || result.Sent != (c.want == "sent" || c.want == "unknown") || result.HTTPStatus != c.status {
			t.Errorf("%d %s: %s %+v, want %s", c.status, c.body, provider.Outcome(err), result, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "9812345678") || strings.Contains(err.Error(), "123456")) {
			t.Errorf("the error tells about the patient: %v", err)
		}
	}
}

func TestAGatewayThatAnswersInTextIsReadByItsRules(t *testing.T) {
	t.Parallel()
	a := serve(t)
	g, err := gateway(t, map[string]any{"url": a.URL + "/", "body": `{}`, "success": map[string]any{"text": "^ID: [0-9a-f]+"},
		"failure": map[string]any{"text": "^ERR:"}})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		"ID: 5f3c":                        "sent",
		"\xef\xbb\xbfID: 5f3c\r\n":        "sent",
		"ERR: 001, Authentication failed": "elsewhere",
		"<html>Welcome to the hotel":      "unknown",
		"":                                "unknown",
	} {
		a.say(200, body)
		if result, err := g.Handle(t.Context(), delivery(otp)); provider.Outcome(err) != want || result.HTTPStatus != 200 {
			t.Errorf("%q: %s (%v), want %s", body, provider.Outcome(err), err, want)
		}
	}
}

// TestARefusalOfOneMessageSaysNothingAboutTheAccount: a campaign of one laboratory has a text that the carriers filter,
// or goes to a region that the account does not serve. The refusals must not pause the account for the messages of all
// others. Wrong credentials concern all messages.
func TestARefusalOfOneMessageSaysNothingAboutTheAccount(t *testing.T) {
	t.Parallel()
	a := serve(t)
	p := twilio(t, a, nil)
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"region", 400, `{"code":21408}`, true}, {"filtered", 201, `{"sid":"SM1","status":"failed","error_code":30007}`, true},
		{"failed at once", 201, `{"sid":"SM1","status":"failed","error_code":30008}`, true},
		{"credentials", 401, `{"code":20003}`, false},
	} {
		a.say(c.status, c.body)
		_, err := p.Handle(t.Context(), delivery(otp))
		if f := job.AsFailure(err); provider.Outcome(err) != "elsewhere" || f.OfMessage != c.want {
			t.Errorf("%s: %+v, want a failure of the message alone: %t", c.name, f, c.want)
		}
	}
}

// TestARefusalOfAnInvalidNumberPausesNoGateway: a gateway answers 200 to everything and says in its text what is wrong.
// A campaign to invalid numbers must not pause it for the messages of all laboratories. An empty balance does, and so
// does a code that the row does not explain, because messages would fail instead of waiting.
func TestARefusalOfAnInvalidNumberPausesNoGateway(t *testing.T) {
	t.Parallel()
	a := serve(t)
	text := map[string]any{"success": map[string]any{"text": "^ID:"}, "failure": map[string]any{"text": "^ERR"}}
	field := map[string]any{"success": map[string]any{"field": "ok", "values": []string{"true"}}}
	status := map[string]any{"success": map[string]any{"statuses": []int{200}}}
	listed := map[string]any{"success": map[string]any{"text": "^ID:"}, "failure": map[string]any{"text": "^ERR", "message": "^ERR 17"}}
	for _, c := range []struct {
		rules  map[string]any
		status int
		body   string
		want   bool // of the message alone
	}{
		{text, 200, "ERR 105 invalid number", true}, {text, 200, "ERR 207 template unknown", true}, {text, 200, "ERR 12 message too long", true},
		{text, 200, "ERR 001, Authentication failed", false}, {text, 200, "ERR 301 No credit left", false}, {text, 200, "ERR Insufficient Balance", false},
		{text, 200, "ERR 105", false}, {text, 200, "ERR insufficient number of credits", false}, {text, 200, "ERR mobile number not found", true},
		{field, 200, `{"ok":false,"error":"invalid number"}`, true}, {field, 200, `{"ok":false,"error":"wrong api_key"}`, false},
		{status, 202, `{"error":"invalid number"}`, true}, {status, 202, `{"error":"balance"}`, false},
		{listed, 200, "ERR 105 invalid number", false}, {listed, 200, "ERR 175", true},
	} {
		rules := maps.Clone(c.rules)
		rules["url"], rules["body"] = a.URL+"/", "{}"
		g, err := gateway(t, rules)
		if err != nil {
			t.Fatal(err)
		}
		a.say(c.status, c.body)
		_, err = g.Handle(t.Context(), delivery(otp))
		if f := job.AsFailure(err); provider.Outcome(err) != "elsewhere" || f.OfMessage != c.want {
			t.Errorf("%s: %+v, want a failure of the message alone: %t", c.body, f, c.want)
		}
	}
}

func TestALostAnswerIsDoubtAndTheRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "POST"} {
		a := serve(t)
		g, err := gateway(t, map[string]any{"method": method, "url": a.URL + "/?t={{query .Message}}"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Handle(t.Context(), delivery(otp)); err != nil { // leaves an open connection for the next request
			t.Fatal(err)
		}
		a.mu.Lock()
		a.drop = true
		a.mu.Unlock()
		result, err := g.Handle(t.Context(), delivery(otp))
		if provider.Outcome(err) != "unknown" || !result.Sent {
			t.Errorf("%s: %s %+v", method, provider.Outcome(err), result)
		}
		if n := len(a.take()); n != 2 {
			t.Errorf("%s: %d requests reached the provider, 2 were made", method, n)
		}
	}
}

func TestAMessageWaitsForASecretThatCannotBeRead(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"token": {Data: []byte("x")}}
	own := deps(t)
	own.Secrets = provider.Directory{Root: files}
	byTemplate, err := sms.NewGateway([]byte(`{"url":"https://x.test/?key={{secret \"token\" | query}}","success":{"statuses":[200]}}`), own)
	if err != nil {
		t.Fatal(err)
	}
	byTwilio, err := sms.NewTwilio([]byte(`{"account":"AC1","token_secret":"token","from":"x"}`), own)
	if err != nil {
		t.Fatal(err)
	}
	delete(files, "token")
	for name, p := range map[string]*sms.Provider{"template": byTemplate, "twilio": byTwilio} {
		if _, err := p.Handle(t.Context(), delivery(otp)); !job.AsFailure(err).Recovers || job.AsFailure(err).Reason != "secret" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func twilio(t *testing.T, a *api, more map[string]any) *sms.Provider {
	t.Helper()
	settings := map[string]any{"kind": "twilio", "account": "AC1", "token_secret": "token", "from": "+15005550006", "base_url": a.URL}
	for name, value := range more {
		settings[name] = value
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sms.NewTwilio(raw, deps(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTwilioGetsAFormAtTheMessagesEndpoint(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.say(201, `{"sid":"SM1","status":"queued","error_code":null,"to":"+919812345678"}`)
	for _, c := range []struct {
		name, data string
		settings   map[string]any
		auth       string
		want       url.Values
	}{
		{"sender of the task", otp, nil, "Basic QUMxOnMzY3ImdA==", url.Values{"From": {"ASHALB"}}},
		{"sender of the settings", `{"contact":9812345678,"countryCode":91,"message":"m"}`, nil, "Basic QUMxOnMzY3ImdA==", url.Values{"From": {"+15005550006"}}},
		{"messaging service and key", `{"contact":9812345678,"countryCode":91,"message":"m"}`, map[string]any{"from": "", "messaging_service": "MG1", "key_id": "SK1"},
			"Basic U0sxOnMzY3ImdA==", url.Values{"MessagingServiceSid": {"MG1"}}},
	} {
		result, err := twilio(t, a, c.settings).Handle(t.Context(), delivery(c.data))
		if err != nil || result.MessageID != "SM1" || !result.Sent || result.Excerpt != "" {
			t.Errorf("%s: %+v, %v", c.name, result, err)
		}
		got := a.take()[0]
		form, err := url.ParseQuery(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		if form.Get("To") != "+919812345678" || form.Get("Body") == "" || got.Path != "/2010-04-01/Accounts/AC1/Messages.json" || got.Auth != c.auth {
			t.Errorf("%s: %+v", c.name, got)
		}
		form.Del("To")
		form.Del("Body")
		if diff := cmp.Diff(c.want, form); diff != "" {
			t.Errorf("%s: got %s, want none", c.name, diff)
		}
	}
}

func TestTwiliosErrorsHaveTheirClass(t *testing.T) {
	t.Parallel()
	a := serve(t)
	p := twilio(t, a, nil)
	fault := func(code int) string {
		return fmt.Sprintf(`{"code":%d,"message":"about +919812345678","status":400}`, code)
	}
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"invalid number", fault(21211), 400, "permanent"}, {"unsubscribed", fault(21610), 400, "permanent"}, {"no mobile", fault(21614), 400, "permanent"},
		{"too long", fault(21617), 400, "permanent"}, {"credentials", fault(20003), 401, "elsewhere"}, {"region not enabled", fault(21408), 400, "elsewhere"},
		{"sender not ours", fault(21606), 400, "elsewhere"}, {"trial account", fault(21608), 400, "elsewhere"}, {"too fast", fault(20429), 429, "postponed"},
		{"queue full", fault(21611), 400, "postponed"}, {"unknown code", fault(29999), 400, "permanent"}, {"forbidden", `{}`, 403, "elsewhere"},
		{"down", "<html>", 503, "retry"}, {"broken", "", 500, "retry"}, {"gateway", "", 502, "unknown"},
		{"accepted and failed", `{"sid":"SM1","status":"failed","error_code":30006}`, 201, "permanent"},
		{"accepted and failed, no code", `{"sid":"SM1","status":"failed"}`, 201, "elsewhere"}, {"accepted, unreadable", "ok", 201, "unknown"},
		{"accepted, cut", `{"sid":"SM1","sta`, 201, "unknown"}, {"accepted, without state", `{"sid":"SM1"}`, 201, "unknown"},
	} {
		a.say(c.status, c.body)
		result, err := p.Handle(t.Context(), delivery(otp))
		if provider.Outcome(err) != c.want || result.Sent != (c.want == "sent" || c.want == "unknown") {
			t.Errorf("%s: %s %+v (%v), want %s", c.name, provider.Outcome(err), result, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "9812345678") {
			t.Errorf("%s: the error tells about the patient: %v", c.name, err)
		}
	}
}

func TestRetryAfterOfTwilioIsHonoured(t *testing.T) {
	t.Parallel()
	a := serve(t)
	a.say(429, `{"code":20429}`)
	a.header = http.Header{"Retry-After": {"11"}}
	_, err := twilio(t, a, nil).Handle(t.Context(), delivery(otp))
	if f := job.AsFailure(err); f.RetryAfter != 11*time.Second || f.Reason != provider.RateLimited {
		t.Errorf("%+v", f)
	}
}

// TestARowWhoseAddressIsNeverAllowedIsRefused: a gateway listens on a port that the settings of the service do not
// allow. Its row must be invalid, so that its messages wait until an operator allows the port; they failed for good.
func TestARowWhoseAddressIsNeverAllowedIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := gateway(t, map[string]any{"url": "https://sms.example.com:8443/send?t={{query .Message}}"}); err == nil {
		t.Error("the row of the gateway is in force")
	}
	raw := `{"account":"AC1","token_secret":"token","from":"x","base_url":"https://api.example.com:8443"}`
	if _, err := sms.NewTwilio([]byte(raw), deps(t)); err == nil {
		t.Error("the row of Twilio is in force")
	}
}

func TestTwilioNeedsAccountSecretAndSender(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{}`, `{"account":"AC1","token_secret":"token"}`, `{"account":"AC1","token_secret":"missing","from":"x"}`,
		`{"account":"AC1","token_secret":"token","from":"x","messaging_service":"y"}`, `{"account":"AC1","token_secret":"token","from":"x","base_url":"ftp://x"}`} {
		if _, err := sms.NewTwilio([]byte(raw), deps(t)); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}
