package landing_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/gateway/internal/landing"
	"github.com/labplatform/labplatform/pkg/edge"
)

// opened returns the landing page of a demo with two people.
func opened(t *testing.T) edge.Page {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.json")
	text := `{"people":[{"session":"s-asha","id":77,"name":"Asha <R>","role":"laboratory user"},{"session":"s-rao","name":"Dr Rao","role":"doctor"}],
		"links":[{"url":"http://127.0.0.1:8004/outbox/","title":"Outbox","text":"What was sent."}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	demo, err := landing.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return landing.Page(demo, landing.Facts{HasSearch: true})
}

func send(t *testing.T, p edge.Page, method, target, body string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	if !p.Matches(request.URL.Path) {
		t.Fatalf("%s is not part of the landing page", target)
	}
	recorder := httptest.NewRecorder()
	p.Handler.ServeHTTP(recorder, request)
	return recorder
}

func TestADemoPersonSignsInAndOut(t *testing.T) {
	t.Parallel()
	p := opened(t)
	page := send(t, p, "GET", "/", "", nil)
	for _, want := range []string{"Who would you like to be?", "Asha &lt;R&gt;", "Dr Rao", "http://127.0.0.1:8004/outbox/"} {
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.Body.String(), "s-asha") {
		t.Error("the page contains a session id, want none")
	}
	in := send(t, p, "POST", "/sign-in", url.Values{"name": {"Asha <R>"}, "to": {"/callout/"}}.Encode(), nil)
	cookies := in.Result().Cookies()
	if in.Code != http.StatusSeeOther || in.Header().Get("Location") != "/callout/" || len(cookies) != 1 ||
		cookies[0].Value != "s-asha" || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
		t.Fatalf("sign-in = %d %v, want a redirect to /callout/ with the session cookie", in.Code, in.Header())
	}
	signed := map[string]string{"Cookie": "sessionid=s-asha"}
	if got := send(t, p, "GET", "/sign-in/person", "", signed).Body.String(); got != `{"has_search":true,"sign_out_url":"","demo":true,"anonymous":false,"id":77,"name":"Asha <R>","role":"laboratory user"}`+"\n" {
		t.Errorf("visitor = %s, want Asha", got)
	}
	if page := send(t, p, "GET", "/?to=/callout/", "", signed).Body.String(); !strings.Contains(page, "You are Asha &lt;R&gt;, laboratory user") {
		t.Errorf("signed in: %s", page)
	}
	if got := send(t, p, "GET", "/sign-in/person", "", nil).Body.String(); !strings.Contains(got, `"anonymous":true`) {
		t.Errorf("visitor without a cookie = %s, want anonymous", got)
	}
	out := send(t, p, "POST", "/sign-out", "", signed)
	if cookies := out.Result().Cookies(); out.Header().Get("Location") != "/" || cookies[0].MaxAge >= 0 {
		t.Errorf("sign-out = %d %v, want a redirect to / that clears the cookie", out.Code, out.Header())
	}
}

func TestLinksShowLiveNumbers(t *testing.T) {
	t.Parallel()
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# TYPE jobs_total counter\njobs_total{channel=\"sms\"} 40\njobs_total{channel=\"email\"} 2\n"))
	}))
	defer metrics.Close()
	counter := func(address string) *landing.Counter {
		return &landing.Counter{Metrics: address, Name: "jobs_total", Unit: "jobs"}
	}
	p := landing.Page(&landing.Demo{People: []landing.Person{{Session: "s", Name: "Asha"}}, Links: []landing.Link{
		{URL: "/queue/", Title: "Queue", Counter: counter(metrics.URL)},
		{URL: "/away/", Title: "Away", Counter: counter("http://127.0.0.1:1/")},
		{URL: "/plain/", Title: "Plain"},
	}}, landing.Facts{})
	if got := send(t, p, "GET", "/sign-in/counters", "", nil).Body.String(); got != `{"/queue/":42}`+"\n" {
		t.Errorf("counters: %s", got)
	}
}

func TestOnlyDemoPersonsSignInAndLinksStayOnThisHost(t *testing.T) {
	t.Parallel()
	p := opened(t)
	if got := send(t, p, "POST", "/sign-in", url.Values{"name": {"s-rao"}}.Encode(), nil); got.Code != http.StatusBadRequest || len(got.Result().Cookies()) > 0 {
		t.Errorf("someone who is not in the demo: %d %v", got.Code, got.Header())
	}
	foreign := map[string]string{"Sec-Fetch-Site": "cross-site"}
	if got := send(t, p, "POST", "/sign-in", url.Values{"name": {"Dr Rao"}}.Encode(), foreign); got.Code != http.StatusForbidden {
		t.Errorf("another site's form: %d", got.Code)
	}
	for _, to := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/\t/evil.example", "callout"} {
		got := send(t, p, "POST", "/sign-in", url.Values{"name": {"Dr Rao"}, "to": {to}}.Encode(), nil)
		if got.Header().Get("Location") != "/" {
			t.Errorf("%q leads to %s", to, got.Header().Get("Location"))
		}
	}
}

func TestWithoutADemoTheFirstPageIsTheReference(t *testing.T) {
	t.Parallel()
	p := landing.Page(nil, landing.Facts{SignOutURL: "https://login.example/out"})
	if got := send(t, p, "GET", "/", "", nil); got.Code != http.StatusFound || got.Header().Get("Location") != "/docs" {
		t.Errorf("first page = %d %v, want a redirect to /docs", got.Code, got.Header())
	}
	if got := send(t, p, "GET", "/sign-in/person", "", map[string]string{"Cookie": "sessionid=s-asha"}); got.Body.String() != `{"has_search":false,"sign_out_url":"https://login.example/out","demo":false,"anonymous":false,"id":0,"name":"","role":""}`+"\n" {
		t.Errorf("visitor without a demo = %s, want only the address", got.Body)
	}
	if got := send(t, p, "POST", "/sign-in", "name=Asha", nil); got.Code != http.StatusNotFound {
		t.Errorf("sign in: %d", got.Code)
	}
}

func TestADemoFileWithoutPersonsIsRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"people":[{"name":"Asha"}]}`, `{"people":[{"session":"s"}]}`} {
		path := filepath.Join(t.TempDir(), "demo.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := landing.Read(path); err == nil || !strings.Contains(err.Error(), "GATEWAY_DEMO_SIGN_IN") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
