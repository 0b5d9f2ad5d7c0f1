package e2e

import (
	"fmt"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// streamed are the pages that follow an event stream, with the service behind it and the end of the stream's path.
var streamed = []struct{ path, service, stream string }{
	{"/notifications/", "notifications", "/live"},
	{"/callout/", "callout", "/live"},
	{"/external-edit/?report=97052", "externaledit", "/events"},
}

// TestPagesFollowTheirStreamsAgain is a deployment at which each page is open: the gateway is replaced while the service is
// not back yet and answers 503. Then the person's login ends, and they log in again.
func TestPagesFollowTheirStreamsAgain(t *testing.T) {
	newReport(t, 97052)
	const upToDate = `document.getElementById("state").textContent.startsWith("Up to date")`
	const session = "e2e-streams"
	logIn(t, session, 12, 77, "report_edit")
	pages := make([]page, len(streamed))
	for i, one := range streamed {
		p := openPage(t, stack.Endpoints.Gateway)
		// As where there is no demo: no one is led to a choice of people.
		p.Do(browser.Command(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: noDemo}))
		p.login(session)
		p.visit(one.path, upToDate)
		pages[i] = p
	}
	everywhere := func(what, expression string) {
		t.Helper()
		for i, p := range pages {
			p.Await(what+" on "+streamed[i].path, expression)
		}
	}
	for _, one := range streamed {
		if err := stack.Stop(one.service); err != nil {
			t.Fatal(err)
		}
	}
	replaceGateway(t)
	for i, p := range pages {
		p.Await("a refusal of "+streamed[i].path, fmt.Sprintf(`performance.getEntriesByType("resource").some((one) =>
			one.responseStatus === 503 && new URL(one.name).pathname.endsWith(%q))`, streamed[i].stream))
	}
	everywhere("the loss", `document.getElementById("state").textContent.startsWith("Connection lost")`)
	for _, one := range streamed {
		restart(t, one.service)
	}
	everywhere("the stream again", upToDate)

	for _, p := range pages {
		p.login("e2e-streams-ended")
	}
	replaceGateway(t)
	everywhere("what to do", `/[Ll]og in/.test(document.getElementById("state").textContent)`)
	for i, text := range []string{`document.getElementById("list").textContent`, `document.getElementById("board").textContent`,
		`document.getElementById("holder").hidden ? "" : "the report"`} {
		if shown := pages[i].Eval(text); shown != "" {
			t.Errorf("%s still shows %q to no one's login", streamed[i].path, shown)
		}
	}
	for _, p := range pages {
		p.login(session)
	}
	everywhere("the stream of the next login", upToDate)
}

// replaceGateway ends the gateway, with all streams, and starts it again.
func replaceGateway(t *testing.T) {
	t.Helper()
	if err := stack.Stop("gateway"); err != nil {
		t.Fatal(err)
	}
	restart(t, "gateway")
}
