package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// cutting is a proxy in front of the gateway that can close all its connections, like a lost network. It also serves
// the test's page, so that the page and the events have the same origin.
type cutting struct{ *httptest.Server }

const eventsPage = `<!doctype html><meta charset="utf-8"><title>Events</title><script type="module">
window.seen = [];
window.opened = 0;
const source = new EventSource(new URLSearchParams(location.search).get("events"));
source.onopen = () => { window.opened++; };
for (const name of ["session_created", "session_ended", "authorship_changed", "files_uploaded"]) {
  source.addEventListener(name, (e) => window.seen.push(name + " " + JSON.parse(e.data).data.lab_report_id + " " + e.lastEventId));
}
source.onmessage = () => window.seen.push("a message without a name");
</script>`

func newCutting(t *testing.T) *cutting {
	t.Helper()
	target, err := url.Parse(stack.Endpoints.Gateway)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutting{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			http.SetCookie(w, &http.Cookie{Name: "sessionid", Value: r.URL.Query().Get("session"), Path: "/"})
			_, _ = w.Write([]byte(eventsPage))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// watchInBrowser opens the page of a report's events and waits until it is connected.
func watchInBrowser(t *testing.T, c *cutting, session string, report int) page {
	t.Helper()
	p := openPage(t, fmt.Sprintf("%s/page?session=%s&events=%s", c.URL, session,
		url.QueryEscape(fmt.Sprintf("%s/%d/events", editPath, report))))
	p.Await("the connection", "window.opened === 1")
	return p
}

// TestExternalEditEventsInTwoBrowsers expects all four kinds of events in both browsers, including the one whose
// connection was cut in between.
func TestExternalEditEventsInTwoBrowsers(t *testing.T) {
	report, asha, chief := editReport(t), editor(t, 12, "report_edit"), editor(t, 12, "report_edit",
		"report_edit_takeover")
	steady, shaky := newCutting(t), newCutting(t)
	first, second := watchInBrowser(t, steady, asha, report), watchInBrowser(t, shaky, chief, report)
	id, token := openSession(t, asha, report, creation)
	for _, p := range []page{first, second} {
		p.Await("session_created", fmt.Sprintf(`window.seen.some((s) => s.startsWith("session_created %d "))`, report))
	}
	shaky.CloseClientConnections()
	if got := mustUpload(t, id, token, savedPair(t, "in two browsers")); got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	openSession(t, chief, report, strings.Replace(creation, "}", `,"take_over":true}`, 1))
	names := `window.seen.map((s) => s.split(" ")[0]).join()`
	want := "session_created,files_uploaded,session_ended,session_created,authorship_changed"
	first.Await("all events in the first browser", fmt.Sprintf("%s === %q", names, want))
	second.Await("all events in the browser that was cut off, once each",
		fmt.Sprintf("window.opened > 1 && %s === %q", names, want))
	if a, b := first.Eval("window.seen.join()"), second.Eval("window.seen.join()"); a != b {
		t.Errorf("the browsers saw\n%s\n%s", a, b)
	}
}
