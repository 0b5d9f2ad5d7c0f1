package e2e

import (
	"fmt"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// streamed lists the pages with an event stream, the service behind it, and the end of the stream's path.
var streamed = []struct{ path, service, stream string }{
	{"/notifications/", "notifications", "/live"},
	{"/callout/", "callout", "/live"},
	{"/external-edit/?report=97052", "externaledit", "/events"},
}

// TestPagesFollowTheirStreamsAgain simulates a deployment while each page is open: the gateway is replaced while the
// services are stopped, so that it responds 503. Later the user's login ends, and the user logs in again.
func TestPagesFollowTheirStreamsAgain(t *testing.T) {
	newReport(t, 97052)
	const upToDate = `document.getElementById("state").textContent.startsWith("Up to date")`
	const session = "e2e-streams"
	logIn(t, session, 12, 77, "report_edit")
	pages := make([]page, len(streamed))
	for i, one := range streamed {
		p := openPage(t, stack.Endpoints.Gateway)
		// As without the demo sign-in, so that the page does not redirect to it.
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

// replaceGateway ends the gateway with all its streams and starts it again.
func replaceGateway(t *testing.T) {
	t.Helper()
	if err := stack.Stop("gateway"); err != nil {
		t.Fatal(err)
	}
	restart(t, "gateway")
}

// TestPagesFollowTheirStreamsAgainForAnotherLogin simulates a shared computer: the user changes while the stream is
// interrupted, so that no request is ever refused. No data of the first user may stay visible. The last login must not
// see the report.
func TestPagesFollowTheirStreamsAgainForAnotherLogin(t *testing.T) {
	newReport(t, 97052)
	const upToDate = `document.getElementById("state").textContent.startsWith("Up to date")`
	const person = `document.querySelector(".person")?.textContent ?? ""`
	for _, one := range streamed {
		p := openPage(t, stack.Endpoints.Gateway)
		p.login(labSession)
		p.visit(one.path, upToDate+" && ("+person+`) !== ""`)
		first := p.Eval(person)
		p.Eval(`window.first = true`)
		p.login(administrator)
		replaceGateway(t)
		p.Await("the page of the next login, "+one.path, fmt.Sprintf(`window.first === undefined && %s && ![%q, ""].includes(%s)`, upToDate, first, person))
		if one.service != "externaledit" {
			continue
		}
		p.login(otherSession)
		replaceGateway(t)
		p.Await("no report", `document.getElementById("holder").hidden && document.getElementById("patient") === null`)
	}
}

// playStream replaces the event streams of a page by one that the test controls: play(text) sends events, lose() ends
// the stream, and refuse = true makes it respond 429. Responses for addresses that contain hold wait for release().
// Addresses that contain fail respond 503.
const playStream = `const send = window.fetch, held = [];
let stream = Promise.withResolvers();
window.play = async (text) => (await stream.promise).enqueue(new TextEncoder().encode(text));
window.lose = async () => {
	const last = stream;
	stream = Promise.withResolvers();
	(await last.promise).close();
};
const connected = (one) => {
	stream.resolve(one);
	stream.promise = Promise.resolve(one);
};
window.refuse = false;
window.hold = window.fail = null;
window.failed = 0;
window.holding = 0;
window.release = () => held.splice(0).forEach((go) => go());
window.fetch = async (to, how) => {
	if (String(to).endsWith("/live")) {
		return window.refuse ? new Response("{}", { status: 429 }) : new Response(new ReadableStream({ start: connected }));
	}
	if (window.fail && String(to).includes(window.fail)) {
		window.failed++;
		return new Response("{}", { status: 503 });
	}
	const answer = await send(to, how);
	if (window.hold && String(to).includes(window.hold)) await new Promise((go) => { window.holding = held.push(go); });
	return answer;
};
`

// played opens a page with playStream. The script setup runs before the page's own.
func played(t *testing.T, path, setup string) page {
	t.Helper()
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.Do(browser.Command(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: playStream + setup}))
	p.visit(path, `document.querySelector(".person") !== null`)
	return p
}

const stateText = `document.getElementById("state").textContent`

// TestCalloutPageShowsTheNewestList checks the page while the list cannot be loaded, and with a response that is older
// than the list of the stream.
func TestCalloutPageShowsTheNewestList(t *testing.T) {
	p := played(t, "/callout/", "")
	const summary = `event: summary\ndata: {"open":%d,"overdue":0,"called":0,"median_minutes_to_callout":null,"limit_minutes":30}\n\n`
	const list = `event: worklist\ndata: {"now":"2026-01-01T00:00:00Z","open":[],"elsewhere":%d}\n\n`
	send := func(format string, n int) { p.Eval("play(`" + fmt.Sprintf(format, n) + "`)") }
	p.Eval("play(`event: worklist\\ndata:\\n\\n`)")
	send(summary, 41)
	p.Await("the figures", `document.getElementById("figures").textContent.startsWith("41 open")`)
	if got := p.Eval(stateText); strings.HasPrefix(got, "Up to date") {
		t.Errorf("without a list the page says %q", got)
	}
	send(list, 3)
	p.Await("the list", `document.getElementById("elsewhere").textContent.startsWith("3 wait") && `+stateText+`.startsWith("Up to date")`)
	p.Eval(`(window.hold = "/critical-callout/open", window.refuse = true, lose())`)
	p.Await("a request for the list", `window.holding > 0`)
	p.Eval(`window.refuse = false`)
	send(list, 4)
	p.Await("the newer list", `document.getElementById("elsewhere").textContent.startsWith("4 wait")`)
	p.Eval(`(window.hold = null, release())`)
	send(summary, 42)
	p.Await("the figures", `document.getElementById("figures").textContent.startsWith("42 open")`)
	if got := p.Eval(`document.getElementById("elsewhere").textContent + ` + stateText); !strings.HasPrefix(got, "4 wait") || !strings.Contains(got, "Up to date") {
		t.Errorf("after the older answer the page says %q", got)
	}
	p.Eval(`(window.kept = true, window.fail = "/sign-in/person", lose())`)
	p.Await("the loss while no one knows the login", `window.failed > 1 && `+stateText+`.startsWith("Connection lost")`)
	p.Eval(`window.fail = null`)
	p.Await("the list on the same page", "(play(`"+fmt.Sprintf(list, 5)+"`), window.kept && document.getElementById('elsewhere').textContent.startsWith('5 wait'))")
}

// TestNotificationsPageWithoutAStream shows the list while streams are refused. After a lost stream, the page must not
// call the list up to date.
func TestNotificationsPageWithoutAStream(t *testing.T) {
	p := played(t, "/notifications/", `window.refuse = true;`)
	p.Await("the list", `document.getElementById("list").children.length > 0 && `+stateText+`.startsWith("Connection lost")`)
	p.Eval(`(window.hold = "/notifications/all", window.refuse = false)`)
	p.Await("the request for the list", `window.holding === 1`)
	p.Eval(`(window.refuse = true, document.getElementById("state").textContent = "", lose())`)
	p.Await("the loss", stateText+`.startsWith("Connection lost")`)
	p.Eval(`(window.hold = null, document.getElementById("list").replaceChildren(), release())`)
	p.Await("the list", `document.getElementById("list").children.length > 0`)
	if got := p.Eval(stateText); !strings.HasPrefix(got, "Connection lost") {
		t.Errorf("after the loss the page says %q", got)
	}
}
