package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// gates lets a test decide the order of responses. shut(end) holds the next responses for addresses with this end, whose
// list is waiting; after leave(end), later ones are not held; pass(end) releases the held ones and sets passed once
// the page has had time for them.
const gates = `(() => {
	const real = window.fetch, shut = new Map(), held = new Map();
	window.waiting = [];
	window.shut = (end) => { shut.set(end, Promise.withResolvers()); held.set(end, shut.get(end)); };
	window.leave = (end) => shut.delete(end);
	window.pass = (end) => { shut.delete(end); held.get(end).resolve(); setTimeout(() => { window.passed = end; }, 300); };
	window.fetch = async (to, how) => {
		const [end, gate] = [...shut].find(([end]) => String(to).endsWith(end)) ?? [];
		const answer = await real(to, how);
		if (gate) await Promise.all([gate.promise, window.waiting.push(end)]);
		return answer;
	};
})()`

func (p page) shut(end string) { p.T.Helper(); p.Eval(fmt.Sprintf(`shut(%q)`, end)) }

func (p page) holds(end string) {
	p.T.Helper()
	p.Await("the response of "+end, fmt.Sprintf(`waiting.includes(%q)`, end))
}

func (p page) pass(end string) {
	p.T.Helper()
	p.Eval(fmt.Sprintf(`pass(%q)`, end))
	p.Await("time after the response of "+end, fmt.Sprintf(`window.passed === %q`, end))
}

// TestBillPageShowsTheBillThatWasChosenLast splits a bill and chooses another one before the response arrives. The page
// must show the other bill only, with no amounts of the first one.
func TestBillPageShowsTheBillThatWasChosenLast(t *testing.T) {
	const first, second = 91086, 91087
	seedBill(t, first)
	seedBill(t, second)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.visit(fmt.Sprintf("/bill/?bill=%d", first), `document.querySelectorAll("#family article").length === 1`)
	p.Eval(gates)
	split, family, other := fmt.Sprintf("split/%d", first), fmt.Sprintf("%d/family", first), fmt.Sprintf("%d/family", second)
	choose := func() {
		t.Helper()
		p.Fill("bill", "input", fmt.Sprint(second))
		p.Eval(`document.getElementById("choose").requestSubmit()`)
		p.holds(other)
	}
	shown := func() {
		t.Helper()
		if got := p.Eval(`[...document.querySelectorAll("#family article")].map((one) => one.dataset.bill).join() + document.getElementById("sums").hidden + document.getElementById("do").disabled`); got != fmt.Sprintf("%dtruetrue", second) {
			t.Errorf("bills, no amounts, no split: %s, want those of bill %d", got, second)
		}
	}
	p.shut(other)
	choose()
	p.shut(split)
	p.Eval(`document.querySelector("#family input").click()`) // while the other bill is loading
	p.holds(split)
	p.pass(other)
	p.pass(split)
	shown()

	p.visit(fmt.Sprintf("/bill/?bill=%d", first), `document.querySelectorAll("#family article").length === 1`)
	p.Eval(gates)
	p.Eval(`document.querySelector("#family input").click()`)
	p.Await("what it would mean", `!document.getElementById("do").disabled`)
	p.shut(split)
	p.Eval(`document.getElementById("do").click()`)
	p.holds(split)
	p.shut(other)
	choose()
	p.shut(family)
	p.pass(split)
	p.holds(family)
	p.pass(other)
	p.pass(family)
	shown()
}

// TestBillPageIgnoresTheErrorOfAnEarlierNumber looks up a number, then another one. The error of the first request must
// not close the bill of the second.
func TestBillPageIgnoresTheErrorOfAnEarlierNumber(t *testing.T) {
	const id = 91088
	seedBill(t, id)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.scripted(fmt.Sprintf(`
		const real = window.fetch;
		window.fetch = async (to, how) => {
			if (to === "/sign-in/person") return Response.json({ ...(await (await real(to, how)).json()), has_search: true });
			if (!String(to).startsWith("/api/v1/lookup?number=")) return real(to, how);
			if (String(to).endsWith("=slow")) return new Promise((go) => { window.fail = () => go(new Response("{}", { status: 504 })); });
			return Response.json({ matches: [{ kind: "bill", number: "%[1]d", patient: { user_id: 1 }, reports: [], bill: { bill_id: %[1]d, lab_bill_id: %[1]d } }] });
		};`, id))
	p.visit("/bill/", `document.querySelector(".person") !== null && !document.getElementById("today").hidden`)
	find := func(number string) {
		t.Helper()
		p.Fill("bill", "input", number)
		p.Eval(`document.getElementById("choose").requestSubmit()`)
	}
	find("slow")
	p.Await("the first request", `window.fail !== undefined`)
	find("other")
	p.Await("the second bill", `document.querySelectorAll("#family article").length === 1`)
	p.Eval(`(fail(), setTimeout(() => { window.failed = true; }, 300))`)
	p.Await("time for the error", `window.failed === true`)
	if got := p.Eval(`document.querySelectorAll("#family article").length + document.getElementById("state").className`); got != "1" {
		t.Errorf("after the error of the first request: %s bills, want 1 and no error", got)
	}
}

// scripted executes a script before those of each page that is visited next.
func (p page) scripted(source string) {
	p.T.Helper()
	p.Do(browser.Command(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: source}))
}

// slowSearch makes searches wait for go() while hold is true. The patients that it finds have the typed text as name,
// and its length as id.
const slowSearch = `
	const real = window.fetch;
	window.hold = false;
	window.fetch = async (to, how) => {
		if (!String(to).startsWith("/api/v1/users/")) return real(to, how);
		if (!String(to).endsWith("/search")) return Response.json({ user: { full_name: "Patient " + String(to).split("/").at(-1), lab_bill_ids: [], order_numbers: [], sample_ids: [] } });
		const { query } = JSON.parse(how.body);
		if (window.hold) {
			await new Promise((go, fail) => {
				window.go = go;
				how.signal.addEventListener("abort", () => fail(new DOMException("", "AbortError")));
			});
		}
		return Response.json({ total: 1, results: [{ user_id: query.length, full_name: query, contact: "", lab_patient_id: "", matched_fields: ["full_name"] }] });
	};`

// TestSearchPageOpensNoPatientOfAnEarlierSearch types and presses Enter before the search has a result, as a barcode
// scanner does. The patient of the search before must not be opened.
func TestSearchPageOpensNoPatientOfAnEarlierSearch(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.scripted(slowSearch)
	p.visit("/search/", `document.querySelector(".person") !== null`)
	lists := func(what string, user int) {
		t.Helper()
		p.Await(what, fmt.Sprintf(`document.querySelector("#results li")?.dataset.user === "%d" && document.getElementById("detail").hidden`, user))
	}
	p.Fill("box", "input", "asha")
	lists("the first patient", 4)
	p.Eval(`(window.hold = true, window.go = null, document.getElementById("box").focus())`)
	p.Fill("box", "input", "leelab")
	p.Await("the second search", `window.go !== null`)
	p.Press(kb.Enter)
	p.Eval(`(window.hold = false, go())`)
	lists("the second patient, not opened", 6)
	p.HoldEnter(`document.getElementById("detail").textContent.endsWith("Patient 6")`)
	p.Await("the second patient, opened", `document.getElementById("detail").textContent.endsWith("Patient 6") && location.search === "?user=6"`)
	p.Eval(`history.back()`)
	lists("the search again, after one Back", 6)

	p.Eval(`(window.hold = true, window.go = null, history.forward())`)
	p.Await("the search of the entry", `window.go !== null`)
	p.Fill("box", "input", "asha")
	p.Await("the next search", `document.getElementById("box").value === "asha" && history.state.query === "asha"`)
	p.Eval(`(window.hold = false, go())`)
	lists("the patient that was typed, and no other", 4)
}

// TestCalloutPageSavesNothingByADoubleClick double-clicks a card that covers the place of the dialog's button for
// attempts.
func TestCalloutPageSavesNothingByADoubleClick(t *testing.T) {
	p, card := openCard(t, 979830)
	p.Eval(`((r) => {
		document.getElementById("close").click();
		` + card + ".style.cssText = `position: fixed; z-index: 9; left: ${r.x}px; top: ${r.y}px; width: ${r.width}px; height: ${r.height}px`" + `;
	})((` + card + `.click(), document.getElementById("attempt").getBoundingClientRect()))`)
	p.Click(card)()
	if got := p.Eval(`document.getElementById("dialog").open && !document.getElementById("attempt").disabled`); got != "true" {
		t.Error("the double click opened the dialog and saved an attempt")
	}
}

// TestCalloutPageRecordsARetryOnce saves an attempt whose response is lost, and saves it again.
func TestCalloutPageRecordsARetryOnce(t *testing.T) {
	const bill = 979810
	p, card := openCard(t, bill)
	p.Eval(card + ".click()")
	p.Eval(`(() => {
		const real = window.fetch;
		window.fetch = async (to, how) => {
			const answer = await real(to, how);
			if (!String(to).endsWith("/critical/callout")) return answer;
			window.fetch = real;
			throw new TypeError("the network was lost");
		};
	})()`)
	p.Eval(`document.getElementById("attempt").click()`)
	p.Await("the loss", `document.getElementById("problem").textContent.startsWith("The server cannot be reached")`)
	p.Eval(`document.getElementById("attempt").click()`)
	p.Await("the attempt", `!document.getElementById("dialog").open`)
	got := call(t, labSession, "GET", fmt.Sprintf("/report/bulk/critical-notification/logs?report_ids=%d", bill+1), "")
	if n := strings.Count(got.body, "attempted: draft saved"); n != 1 {
		t.Errorf("%d attempts are recorded, want 1: %s", n, got.body)
	}
}

// openCard opens the board with a new critical result and returns its card.
func openCard(t *testing.T, bill int) (p page, card string) {
	t.Helper()
	newCriticalBill(t, bill, 0, 3)
	if got := evaluateBill(t, bill); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	p, card = openPage(t, stack.Endpoints.Gateway), fmt.Sprintf(boardCard, bill+1)
	p.board(labSession)
	p.Await("the result", card+" !== null")
	return p, card
}

// TestCounterKeysPageDeletesTheKeysThatItAskedAbout chooses another test, and clicks the button for the defaults while
// that test is loading. The keys of the test in the question are deleted, not those of the other test.
func TestCounterKeysPageDeletesTheKeysThatItAskedAbout(t *testing.T) {
	const test, other = 77034, 77035
	p := keysPage(t, test)
	seedTest(t, other)
	call(t, labSession, "POST", fmt.Sprint(mappingsPath, other), `{"lab_id":12,"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1}]}`)
	applyFixture(t, fmt.Sprintf(`{"mysql":{"AllTests":[{"id":%d,"labId_id":12,"testName":"Another differential"}]}}`, other))
	p.Fill("name", "input", "Another differential")
	p.Eval(`document.getElementById("find").requestSubmit()`)
	p.Await("the other test", `document.getElementById("tests").textContent.startsWith("Another differential")`)
	p.Eval(gates)
	p.shut(fmt.Sprintf("/%d/parameters", other))
	p.Eval(`document.querySelector("#tests button").click()`)
	p.holds(fmt.Sprintf("/%d/parameters", other))
	p.Eval(`document.getElementById("reset").click()`)
	p.Await("a question", `document.getElementById("ask").open`)
	p.pass(fmt.Sprintf("/%d/parameters", other))
	p.Eval(`document.getElementById("yes").click()`)
	p.Await("the defaults", `document.getElementById("told").textContent.includes("counts with the defaults again")`)
	for id, want := range map[int]string{test: `"mappings":[]`, other: `"scope":"lab"`} {
		if got := call(t, labSession, "GET", fmt.Sprint(mappingsPath, id), "").body; !strings.Contains(got, want) {
			t.Errorf("test %d: %s, want %s", id, got, want)
		}
	}
}

// TestNotificationsPageTellsOfUnreadOnesThatAreNotListed has 200 read notifications and five older, unread ones.
func TestNotificationsPageTellsOfUnreadOnesThatAreNotListed(t *testing.T) {
	p := played(t, "/notifications/", `const streamed = window.fetch;
		window.fetch = (to, how) => !String(to).includes("/notifications/all") ? streamed(to, how) : Promise.resolve(Response.json({ unread_count: 5,
			data: Array.from({ length: 200 }, (_, i) => ({ id: 1000 - i, read_on: 1, created_at: 1, message: { title: "Read", body: "" } })) }));`)
	p.Await("the list", `document.querySelectorAll("#list li").length === 200`)
	p.Eval(`document.getElementById("only").click()`)
	p.Await("what is not listed", `document.getElementById("older")?.textContent.startsWith("5 unread and older") && !document.getElementById("older").hidden`)
	if got := p.Eval(`document.getElementById("list").textContent`); got != "The newest 200 are read." {
		t.Errorf("the list says %q", got)
	}
}

// TestNotificationsPageStoresASwitchBeforeTheNext clicks a switch twice. The second click must not send a request that
// the server may execute before the first.
func TestNotificationsPageStoresASwitchBeforeTheNext(t *testing.T) {
	p := played(t, "/notifications/", "")
	const box = `document.querySelector("#types input:enabled")`
	p.Await("the switches", box+` !== null`)
	p.Eval(`(window.box = ` + box + `, window.was = box.checked, window.hold = "user-preferences", box.click(), box.click())`)
	if got := p.Eval(`box.checked === was`); got == "true" {
		t.Error("the switch was switched back while the first request was under way")
	}
	p.Await("the response", `window.holding === 1`)
	p.Eval(`(window.hold = null, release())`)
	p.Await("the switch", `!box.disabled`)
	p.Eval(`box.click()`)
	p.Await("as before", `!box.disabled && box.checked === was && document.getElementById("told").textContent.endsWith(was ? ": on." : ": off.")`)
}

// TestCellCounterPageAsksAgainForANumberOfTwoReports scans the number of an order with two smears twice. After the
// first smear, the number must not mean its report again without a question.
func TestCellCounterPageAsksAgainForANumberOfTwoReports(t *testing.T) {
	p, report := counterPage(t, 77027)
	p.scripted(fmt.Sprintf(`
		const real = window.fetch;
		window.fetch = async (to, how) => {
			if (to === "/sign-in/person") return Response.json({ ...(await (await real(to, how)).json()), has_search: true });
			if (!String(to).startsWith("/api/v1/lookup?number=")) return real(to, how);
			const reports = ["A", "B"].map((sample_id, i) => ({ lab_report_id: %d + i, test_id: 77027, cell_counter: true, test_name: "Smear", sample_id }));
			return Response.json({ matches: [{ kind: "order", number: "E2E-77027", patient: { user_id: 1, full_name: "Leela" }, reports }] });
		};`, report))
	p.visit("/cell-counter/", `document.querySelector(".person") !== null && !document.getElementById("waiting").hidden`)
	for range 2 {
		p.Fill("report", "input", "E2E-77027")
		p.Eval(`document.getElementById("setup").requestSubmit()`)
		p.Await("which of the two", `document.querySelectorAll("#choices button").length === 3`)
		p.Eval(`document.querySelector("#choices button").click()`)
		p.says("Ready: 5 keys")
	}
}

// TestExternalEditPageTakesOverFromThePersonInTheQuestion asks whether to take a report from its author, who ends the
// session meanwhile. The next person who opens the report must keep it.
func TestExternalEditPageTakesOverFromThePersonInTheQuestion(t *testing.T) {
	const report = 97053
	newReport(t, report)
	author := editor(t, 12, "report_edit")
	session, _ := openSession(t, author, report, creation)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(administrator)
	held := `document.getElementById("held").textContent`
	p.visit(fmt.Sprintf("/external-edit/?report=%d", report), held+`.startsWith("Editor ")`)
	p.Eval(`document.getElementById("take").click()`)
	p.Await("the question", `document.getElementById("ask").open`)
	if got := call(t, author, "PUT", fmt.Sprintf("%s/%d", editPath, session), ""); got.status != http.StatusOK {
		t.Fatalf("end: %d %s", got.status, got.body)
	}
	openSession(t, labSession, report, creation)
	p.Await("the next person", held+`.startsWith("Asha Ranade has report")`)
	p.Eval(`document.getElementById("yes").click()`)
	p.Await("why it was not taken over", stateText+`.includes("nothing was taken over")`)
	if got := call(t, labSession, "GET", fmt.Sprintf("%s/%d", editPath, report), "").body; !strings.Contains(got, `"author_name":"Asha Ranade"`) {
		t.Errorf("the session: %s, want that of Asha Ranade", got)
	}
}

// TestExternalEditPageShowsTheNewestState delays the response to an event until the response to the next event has
// arrived.
func TestExternalEditPageShowsTheNewestState(t *testing.T) {
	const report = 97054
	newReport(t, report)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(administrator)
	held := `document.getElementById("held").textContent`
	p.visit(fmt.Sprintf("/external-edit/?report=%d", report), held+`.startsWith("No one edits") && `+stateText+`.startsWith("Up to date")`)
	p.Clean()
	p.Eval(gates)
	const list = "revisions?limit=50"
	p.shut(list)
	author := editor(t, 12, "report_edit")
	session, _ := openSession(t, author, report, creation)
	p.holds(list)
	p.Eval(fmt.Sprintf(`(leave(%q), document.getElementById("held").textContent = "")`, list))
	if got := call(t, author, "PUT", fmt.Sprintf("%s/%d", editPath, session), ""); got.status != http.StatusOK {
		t.Fatalf("end: %d %s", got.status, got.body)
	}
	p.Await("the end of the session", held+`.startsWith("No one edits")`)
	p.pass(list)
	if got := p.Eval(held); !strings.HasPrefix(got, "No one edits") {
		t.Errorf("the page says %q after the older response", got)
	}
	p.Clean()
}

// TestTaskqueueTheAdminPageAppliesWhatItPreviewed changes the form during a preview. What was counted for the previous
// form must not be offered.
func TestTaskqueueTheAdminPageAppliesWhatItPreviewed(t *testing.T) {
	ids := scheduledMessages(t, labSession, 2)
	defer call(t, labSession, "POST", "/cancelJob/", fmt.Sprintf(`{"job_id":[%q,%q]}`, ids[0], ids[1]))
	p := queuePage(t)
	p.Fill("action", "change", "cancel")
	p.Fill("bulk-channel", "input", "whatsapp")
	p.Eval(gates)
	p.shut("api/preview")
	p.Do(chromedp.Click(chromedp.CSS("#preview")))
	p.holds("api/preview")
	p.Fill("bulk-lab", "input", "13")
	p.pass("api/preview")
	p.Await("the end of the preview", `document.getElementById("stop").hidden`)
	if got := p.Eval(`document.getElementById("apply").disabled + document.getElementById("bulk-count").textContent`); got != "trueThe form was changed meanwhile. Preview again." {
		t.Errorf("after the change, disabled and text: %s; the button says %s", got, p.Eval(`document.getElementById("apply").textContent`))
	}
}

// TestPagesAreLoadedAgainForTheLoginOfAnotherTab changes the login while a bill is open, as another tab does. When the
// user returns, the page must belong to the present login, or show nothing.
func TestPagesAreLoadedAgainForTheLoginOfAnotherTab(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.scripted(`
		const real = window.fetch; // as on a platform with search and without the demo sign-in
		window.fetch = (to, how) => to === "/sign-in/person" ? Promise.resolve(Response.json({ has_search: true })) : to !== "/api/v1/login" ? real(to, how)
			: Promise.resolve(sessionStorage.login ? Response.json({ session_type: "lab_user", name: sessionStorage.login, permissions: [] }) : new Response("{}", { status: 401 }));
		if (sessionStorage.login === undefined) sessionStorage.login = "Asha";`)
	p.visit("/bill/?bill=9011", `document.querySelectorAll("#family article").length > 0 && document.querySelector(".person").textContent === "Asha"`)
	comeBack := func(login, what, expression string) {
		t.Helper()
		p.Eval(fmt.Sprintf(`(window.kept = true, sessionStorage.login = %q, window.dispatchEvent(new Event("focus")))`, login))
		p.Await(what, `window.kept === undefined && `+expression)
	}
	comeBack("Sunita", "the page of the next login", `document.querySelectorAll("#family article").length > 0 && document.querySelector(".person").textContent === "Sunita"`)
	p.login("e2e-ended-login")
	comeBack("", "no bill", stateText+`.startsWith("You are not logged in") && document.querySelectorAll("#family article").length === 0`)
}

// TestTaskqueueTheAdminPageResumesOneLaboratory double-clicks the button that resumes a laboratory. The button of the
// next laboratory, which takes its place, must not act.
func TestTaskqueueTheAdminPageResumesOneLaboratory(t *testing.T) {
	p := queuePage(t)
	pause := func(name string) string {
		return fmt.Sprintf(`document.querySelector('[data-resume="laboratory %s"]')`, name)
	}
	for _, name := range []string{"4712", "4713"} {
		p.Fill("hold-lab", "input", name)
		p.Do(chromedp.Click(chromedp.CSS("#hold-button")))
		p.Await("the pause", pause(name)+` !== null`)
	}
	names := strings.Fields(p.Eval(`[...document.querySelectorAll("[data-resume]")].map((one) => one.dataset.resume.split(" ").at(-1)).join(" ")`))
	p.Eval(`document.body.style.minHeight = "300vh"`) // a shorter list does not scroll the page
	p.Eval(pause(names[0]) + `.scrollIntoView({ block: "center" })`)
	again := p.Click(pause(names[0]))
	p.Await("the resumed laboratory", pause(names[0])+` === null`)
	again()
	p.Fill("hold-lab", "input", "4714")
	p.Do(chromedp.Click(chromedp.CSS("#hold-button")))
	p.Await("the next answer", pause("4714")+` !== null`)
	if p.Eval(pause(names[1])+` === null`) == "true" {
		t.Errorf("laboratory %s was resumed too", names[1])
	}
	for _, name := range []string{names[1], "4714"} {
		p.Eval(pause(name) + `?.click()`)
		p.Await("the end of the pause", pause(name)+` === null`)
	}
}

// TestCalloutPageSaysNothingIsSavedWithoutAResponse saves a call through a proxy that answers with its login page, and
// saves it again.
func TestCalloutPageSaysNothingIsSavedWithoutAResponse(t *testing.T) {
	p, card := openCard(t, 979820)
	p.Eval(card + ".click()")
	p.Fill("person", "input", "Dr Rao")
	p.Eval(`document.getElementById("readback").click()`)
	p.Eval(`(() => {
		const real = window.fetch;
		window.fetch = (to, how) => {
			if (!String(to).endsWith("/critical/callout")) return real(to, how);
			window.fetch = real;
			return Promise.resolve(new Response("<!doctype html><title>Log in</title>"));
		};
	})()`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the failure", `document.getElementById("dialog").open && document.getElementById("problem").textContent.startsWith("The response of the server cannot be read")`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the call", card+` === null && !document.getElementById("dialog").open`)
}
