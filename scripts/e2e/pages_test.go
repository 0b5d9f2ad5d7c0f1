package e2e

import (
	"fmt"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// visit opens a path of the gateway and waits until an expression is true.
func (p page) visit(path, expression string) {
	p.T.Helper()
	p.Do(chromedp.Navigate(stack.Endpoints.Gateway + path))
	p.Await(path, expression)
}

// TestPagesAVisitorSignsInAndFindsEverything follows a new user: the landing page of a demo, a sign-in as a person, and
// each page from there.
func TestPagesAVisitorSignsInAndFindsEverything(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway+"/callout/")
	p.Await("the people", `document.querySelectorAll(".people button").length === 9`)
	p.Pictures("landing-anonymous")
	p.Eval(`[...document.querySelectorAll(".people button")].find((b) => b.value === "Asha Ranade").click()`)
	p.Await("the board again, as Asha", `location.pathname === "/callout/" && document.querySelector(".person")?.textContent.startsWith("Asha Ranade, laboratory user")`)
	p.Clean() // discards the errors of requests that were refused before the sign-in
	p.visit("/", `["waiting", "unread", "cells", "bills"].every((id) => document.getElementById(id).textContent !== "")`)
	p.Pictures("landing")
	for _, path := range strings.Fields(p.Eval(`[...document.querySelectorAll(".tiles a")].map((a) => a.pathname).join(" ")`)) {
		if got := call(t, labSession, "GET", path, ""); got.status != 200 && !strings.HasPrefix(path, "/queue-admin") && !strings.HasPrefix(path, "/outbox") {
			t.Errorf("%s leads to %d", path, got.status)
		}
	}
	if errors, foreign := p.Clean(); len(foreign) > 0 || len(errors) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
}

// TestPagesShowOnlyCardsThatALoginMayUse checks the cards for a login of an organization, which may neither split bills
// nor count or edit.
func TestPagesShowOnlyCardsThatALoginMayUse(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(organizationLogin(t, "e2e-cards", "12", "4834"))
	p.visit("/", `document.getElementById("unread").textContent === "0 unread" && ["waiting", "cells", "editing", "bills"].every((id) => document.getElementById(id).closest("li").hidden)`)
	if got := p.Eval(`[...document.querySelectorAll(".tiles li:not([hidden]) a")].map((a) => a.pathname).filter((path) => ["/notifications/", "/docs"].includes(path)).join()`); got != "/notifications/,/docs" {
		t.Errorf("cards %s, want notifications and the reference among them", got)
	}
}

// noDemo makes a page behave as on a platform without the demo sign-in.
const noDemo = `const send = window.fetch; window.fetch = (to, how) => to === "/sign-in/person" ? Promise.resolve(new Response("{}")) : send(to, how)`

// TestPagesOfAPlatformForRealAskToLogIn checks that without the demo sign-in, pages ask to log in, show no data, and
// redirect nowhere.
func TestPagesOfAPlatformForRealAskToLogIn(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway+"/")
	p.Do(browser.Command(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: noDemo}))
	for _, path := range []string{"/callout/", "/notifications/", "/cell-counter/?test=55", "/bill/?bill=9011", "/external-edit/?report=7001"} {
		p.visit(path, `/[Ll]og in/.test(document.querySelector("main, header").parentElement.textContent)`)
		if text := p.Eval("document.body.innerText"); strings.Contains(text, "Rahul") || strings.Contains(text, "Home") {
			t.Errorf("%s without a session: %s", path, text)
		}
	}
}

// TestNotificationsPageInABrowser uses the inbox: new notifications appear, are read, and types are switched.
func TestNotificationsPageInABrowser(t *testing.T) {
	session := organizationLogin(t, "e2e-inbox", "12", "4820")
	p := openPage(t, stack.Endpoints.Gateway+"/notifications/")
	p.Await("the way in", `location.pathname === "/"`)
	p.Clean()
	p.login(session)
	p.visit("/notifications/", `document.getElementById("list").textContent.startsWith("Nothing has come yet") && document.getElementById("state").textContent.startsWith("Up to date")`)
	p.Pictures("notifications-empty")
	one := newNotification(t, 4820, 895101)
	line := fmt.Sprintf(`document.querySelector('[data-notification="%d"]')`, one)
	p.Await("what came", line+`?.classList.contains("unread") === true && document.getElementById("unread").textContent === "1"`)
	p.Eval(line + `.querySelector("button").click()`)
	p.Await("it is read", line+`.classList.contains("unread") === false && document.getElementById("unread").textContent === ""`)
	newNotification(t, 4820, 895102)
	newNotification(t, 4820, 895103)
	p.Await("two more", `document.querySelectorAll("#list .unread").length === 2 && document.title === "(2) Notifications"`)
	p.Pictures("notifications")
	p.Eval(`document.getElementById("all").click()`)
	p.Await("all are read", `document.querySelectorAll("#list .unread").length === 0 && document.querySelectorAll("#list li").length === 3`)
	p.Eval(`document.getElementById("only").click()`)
	p.Await("nothing is left", `document.getElementById("list").textContent === "Everything is read."`)
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
	p.login(labSession)
	p.visit("/notifications/", `document.querySelectorAll("#types input").length > 0`)
	p.Pictures("notifications-switches")
}

// TestExternalEditPageInABrowser uses the page of a report that is not being edited: its author selects a template,
// opens it, ends the session and opens it again; then an administrator takes the report over and ends the session.
func TestExternalEditPageInABrowser(t *testing.T) {
	const report = 97051
	newReport(t, report)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	held := `document.getElementById("held").textContent`
	p.visit(fmt.Sprintf("/external-edit/?report=%d", report), held+fmt.Sprintf(` === "No one edits report %d."`, report))
	p.Clean() // the browser reports the 404 of a report without a session
	p.Await("the templates", `!document.getElementById("begin").hidden && document.getElementById("template").textContent.includes("Platform standard")`)
	p.Eval(`document.getElementById("template").value = "2"`)
	p.Eval(`document.getElementById("open").click()`)
	p.Await("it is open", held+`.startsWith("Asha Ranade has report") && document.querySelector("#opened a") !== null`)
	p.Await("the command", fmt.Sprintf(`document.getElementById("command").textContent.endsWith("--report %d")`, report))
	var template int
	queryRow(t, "SELECT template_id FROM external_edit_session WHERE lab_report_id = ?", report).scan(&template)
	if template != 2 {
		t.Errorf("the session begins with template %d, want 2", template)
	}
	p.Eval(`document.getElementById("end").focus()`)
	p.HoldEnter(`document.getElementById("ask")?.open === true`)
	p.Await("the question", `document.getElementById("ask").open && document.getElementById("question").textContent.startsWith("End your session")`)
	p.Eval(`document.getElementById("yes").click()`)
	p.Await("the author has ended it", held+`.startsWith("No one edits")`)
	p.Eval(`document.getElementById("open").click()`)
	p.Await("it is open again", held+`.startsWith("Asha Ranade has report") && document.querySelector("#opened a") !== null`)
	confirmAgain(t, labSession, report, "13.4")
	p.visit(fmt.Sprintf("/external-edit/?report=%d", report),
		`document.getElementById("warnings").textContent.includes("confirmed after a rerun at")`)
	p.Pictures("external-edit")
	p.login("demo-admin")
	line := fmt.Sprintf(`[...document.querySelectorAll("#list tbody tr")].find((tr) => tr.textContent.startsWith("E2E-%d"))`, report)
	p.visit("/external-edit/", line+`?.textContent.includes("Asha Ranade") === true`)
	p.Pictures("external-edit-held")
	total := p.Eval(`document.querySelector("#list h2").textContent`)
	p.visit("/", fmt.Sprintf(`document.getElementById("editing").textContent === %q`, total))
	p.visit("/external-edit/", line+" !== undefined")
	p.Eval(`(` + line + `.click(), "opened")`)
	p.Await("who has it", `document.getElementById("list").hidden && `+held+`.startsWith("Asha Ranade has report")`)
	p.Eval(`document.getElementById("take").click()`)
	p.Await("the question", `document.getElementById("ask").open`)
	p.Eval(`document.getElementById("yes").click()`)
	p.Await("it was taken over", held+`.startsWith("Sunita Deshpande has report")`)
	p.Eval(`document.getElementById("end").click()`)
	p.Await("the question", `document.getElementById("ask").open`)
	p.Eval(`document.getElementById("yes").click()`)
	p.Await("no one again", held+`.startsWith("No one edits")`)
	p.Do(chromedp.Click(chromedp.CSS("#back")))
	p.Await("the list without it", `document.querySelector("#list h2")?.textContent.includes("edited") === true && `+line+" === undefined")
	p.wantAllSaves(report)
}

// wantAllSaves creates 60 saves. The page shows the older ones on request.
func (p page) wantAllSaves(report int) {
	p.T.Helper()
	var session int
	queryRow(p.T, "SELECT MAX(id) FROM external_edit_session WHERE lab_report_id = ?", report).scan(&session)
	const saves = 60
	var rows []string
	for i := range saves {
		rows = append(rows, fmt.Sprintf(`{"session_id":%d,"revision":%d,"word_s3_path":"w","pdf_s3_path":"p","word_sha256":"","pdf_sha256":"",
			"word_size":1,"pdf_size":1,"uploaded_by":77,"uploaded_at":1790000000000}`, session, i+1))
	}
	applyFixture(p.T, `{"mysql":{"external_edit_revision":[`+strings.Join(rows, ",")+`]}}`)
	shown := `document.querySelectorAll("#rows tr").length`
	p.visit(fmt.Sprintf("/external-edit/?report=%d", report), shown+" === 50")
	p.Eval(`document.getElementById("older").click()`)
	p.Await("the older ones", shown+" === 60 && document.getElementById('older').hidden")
	p.Eval(`document.getElementById("open").click()`)
	p.Await("the older ones stay when something happens", `document.getElementById("end").hidden === false && `+shown+" === 60")
}

// TestBillPageInABrowser selects tests, sees both sums, splits the bill and undoes the split.
func TestBillPageInABrowser(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.visit("/bill/?bill=9011", `document.querySelectorAll("#family article").length > 0`)
	p.Pictures("bill")
	open := p.Eval(`document.querySelectorAll("#family article").length`)
	choose := `[...document.querySelectorAll('[data-bill="9011"] label')].find((l) => l.textContent.includes("140")).querySelector("input").click()`
	p.Eval(choose)
	p.Await("what it would mean", `!document.getElementById("do").disabled && document.querySelector("#amounts tr.total-row").textContent.includes("152.60")`)
	p.Pictures("bill-calculated")
	p.Eval(`document.getElementById("do").click()`)
	p.Await("a new bill", fmt.Sprintf(`document.querySelectorAll("#family article").length === %s + 1 && document.getElementById("state").textContent.includes("was created")`, open))
	p.Pictures("bill-split")
	p.Eval(`window.confirm = () => true`)
	p.Eval(`[...document.querySelectorAll("#family button")].filter((b) => b.textContent === "Undo this split").at(-1).click()`)
	p.Await("it is undone", `document.getElementById("state").textContent.includes("is undone")`)
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
}
