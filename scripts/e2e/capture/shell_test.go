package capture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

const (
	pagePatient  = `document.getElementById("patient")?.textContent ?? ""`
	pageCommands = `document.querySelector("dialog.command[open]") ? document.getElementById("command-text").value + ": " + document.querySelector("dialog.command").innerText : "closed"`
	pageChoices  = `[...document.querySelectorAll("#choices button")].map((b) => b.textContent).join("; ")`
)

// A receptionist scans the barcode of a sample, sees its patient, and opens the bill. The printed number of the bill
// leads to the same page, not to the bill with this number as its id.
func TestANumberOnPaperLeadsToItsPatient(t *testing.T) {
	const first, second = 940_401, 940_402
	register(t, ownLab, first, "Rosalind Thackeray", "9811100401", "SHELL-401")
	register(t, ownLab, second, "Winifred Oakenshaw", "9811100402", "SHELL-402")
	write(t, fmt.Sprintf("UPDATE billing SET labBillId = %d WHERE id = %d", first, second*10),
		fmt.Sprintf("UPDATE billing SET labBillId = %d, source = 'Insurance' WHERE id = %d", second*10, first*10))
	cookie(t, ownLab, 77)
	b := openTab(t, fmt.Sprintf("search-%d-77", ownLab), platform.Endpoints.Gateway+"/bill/")
	b.shows("the laboratory and its zone", `document.querySelector(".person")?.textContent ?? ""`, "(Asia/Kolkata)")

	b.Do(chromedp.Click(chromedp.CSS("h1")))
	b.Press("/")
	b.Press(strings.Split("shell-401", "")...)
	b.Press(kb.Enter) // as scanners do
	b.shows("what can be done with the sample", pageCommands, "Sample SHELL-401 · Rosalind Thackeray")
	b.shows("the bill by its printed number", pageCommands, fmt.Sprintf("Open bill %d", second*10))
	b.Pictures("shell-command")
	b.Press(kb.Enter)
	b.shows("whose bill it is", pagePatient, "Rosalind Thackeray")
	b.shows("her sample", pagePatient, "SHELL-401")
	b.Pictures("shell-bill")

	b.Fill("bill", "input", fmt.Sprint(second*10)) // printed on the first bill, and the id of the second one
	b.Eval(`document.getElementById("choose").requestSubmit()`)
	b.shows("the bill with this number on paper", pagePatient, "Rosalind Thackeray")
	b.Fill("bill", "input", "SHELL-999")
	b.Eval(`document.getElementById("choose").requestSubmit()`)
	b.shows("what to do", pageState, "Check the number")
	if got := b.Eval(pagePatient); got != "" {
		t.Errorf("the patient of the bill before is still shown: %s", got)
	}
	if errors, foreign := b.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
}

// For a number with two meanings the page must offer both, each with its patient.
func TestANumberOfTwoThingsIsAQuestion(t *testing.T) {
	const first, second = 940_411, 940_412
	register(t, ownLab, first, "Ottoline Fairweather", "9811100411", "SHELL-411")
	register(t, ownLab, second, "Perpetua Longbottom", "9811100412", "SHELL-412")
	write(t, fmt.Sprintf("UPDATE billing SET orderNumber = '%d' WHERE id = %d", second*10, first*10))
	cookie(t, ownLab, 77)
	b := openTab(t, fmt.Sprintf("search-%d-77", ownLab), platform.Endpoints.Gateway+"/bill/")
	b.shows("the page is ready", `document.querySelector(".person")?.textContent ?? ""`, "(Asia/Kolkata)")
	b.Fill("bill", "input", fmt.Sprint(second*10))
	b.Eval(`document.getElementById("choose").requestSubmit()`)
	b.shows("the bill", pageChoices, "Perpetua Longbottom")
	b.shows("and the order", pageChoices, "Ottoline Fairweather")
	b.Pictures("shell-choice")
	b.Press(kb.Enter) // the first one has the focus
	b.shows("whose it is", pagePatient, "Perpetua Longbottom")
}

// An organization must see only the pages that it may use, and no refusal.
func TestALoginSeesTheNavigationThatItMayUse(t *testing.T) {
	store(t, fmt.Sprintf(`{"sessions":[{"id":"shell-org","session_type":"organization","lab_id":%d,"org_id":45,"username":"apollo"}]}`, ownLab))
	b := openTab(t, "shell-org", platform.Endpoints.Gateway+"/search/")
	const links = `[...document.querySelectorAll("nav.pages > a")].map((a) => a.textContent).join(",")`
	b.shows("who is logged in", `document.querySelector(".person")?.textContent ?? ""`, "apollo")
	if got := b.Eval(links); !strings.HasSuffix(got, "Patients,Notifications") {
		t.Errorf("the navigation of an organization is %s", got)
	}
}

// A technician scans a sample, sees its patient, counts, and saves the count for this report. The number of another
// test's sample is refused before a cell is counted.
func TestACountBelongsToTheScannedSample(t *testing.T) {
	const patient, other, test = 940_421, 940_422, 94_042
	register(t, ownLab, patient, "Leocadia Brandywine", "9811100421", "SHELL-421")
	register(t, ownLab, other, "Thaddeus Merriweather", "9811100422", "SHELL-422")
	write(t, fmt.Sprintf("INSERT INTO AllTests (id, labId_id, testName, cell_counter_enabled) VALUES (%d, %d, 'Smear', 1)", test, ownLab),
		fmt.Sprintf("INSERT INTO ReportFormat (testId_id, `index`, `order`, parameterName) VALUES (%d, 1, 1, 'Neutrophils')", test),
		fmt.Sprintf("UPDATE labReportRelation SET reportID_id = %d WHERE id = %d", test, patient*100))
	store(t, fmt.Sprintf(`{"sessions":[{"id":"shell-counter","session_type":"lab_user","lab_id":%d,"lab_user_id":79,"full_name":"Tia","permissions":["cell_counter_configure"]}]}`, ownLab))
	session := credential{"Cookie", "sessionid=shell-counter"}
	counter := fmt.Sprintf("%s/api-v3/cell-counter-mappings/%d", platform.Endpoints.Gateway, test)
	if got := session.send(t, "POST", counter,
		fmt.Sprintf(`{"lab_id":%d,"mappings":[{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1}]}`, ownLab)); got.status != 200 {
		t.Fatalf("map a key: %d %s", got.status, got.body)
	}
	b := openTab(t, "shell-counter", platform.Endpoints.Gateway+"/cell-counter/")
	const says = `document.getElementById("message").textContent`
	load := func(number string) {
		b.Fill("report", "input", number)
		b.Eval(`document.getElementById("setup").requestSubmit()`)
	}
	b.shows("the page is ready", `document.querySelector(".person")?.textContent ?? ""`, "Tia")
	load("SHELL-422")
	b.shows("a sample whose cells are not counted", says, "there is no report with counted cells")
	load("shell-421")
	b.shows("whose blood it is", pagePatient, "Leocadia Brandywine")
	b.shows("the keys", says, "Ready: 1 keys")
	b.Pictures("shell-counter")
	b.Press("n", "n", kb.Enter)
	b.shows("the count is saved", says, fmt.Sprintf("Saved as observer 1 of report %d", patient*100))
	if got := session.send(t, "GET", fmt.Sprintf("%s/counts/%d", counter, patient*100), ""); got.status != 200 || !strings.Contains(got.body, `"count":2`) {
		t.Errorf("the stored count: %d %s", got.status, got.body)
	}
	if errors, foreign := b.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}

	b.Do(chromedp.Navigate(fmt.Sprintf("%s/cell-counter/?test=%d", platform.Endpoints.Gateway, test)))
	b.shows("the keys without a report", says, "Ready: 1 keys")
	b.Press("n")
	b.Fill("report", "input", "SHELL-999")
	b.Press(kb.Enter)
	b.shows("an unknown number saves nothing", says, "Check the number")
	const question = `document.getElementById("ask")?.open ? document.getElementById("question").textContent : ""`
	b.Fill("report", "input", "SHELL-421")
	b.Press(kb.Enter)
	b.shows("whose it is, before it is saved", question, "Save 1 cells as a count of Leocadia Brandywine")
	b.Do(chromedp.Click(chromedp.CSS("#yes")))
	b.shows("the stored count is asked about", question, "2 cells of observer 1 by Tia")
	b.shows("whose it is, before it is replaced", pagePatient, "Leocadia Brandywine")
	b.Do(chromedp.Click(chromedp.CSS("#no")))
	b.Do(chromedp.Navigate(fmt.Sprintf("%s/cell-counter/?test=%d", platform.Endpoints.Gateway, test)))
	b.shows("nothing of this count for the next patient", says, "Ready: 1 keys")
	b.keptForItsLogin(patient*100, test)
}

// keptForItsLogin reloads the page with an unsaved cell and logs in as another user of the laboratory. That user
// neither sees the cell nor can save it, and the first user still has it.
func (b tab) keptForItsLogin(report, test int) {
	b.T.Helper()
	const says = `document.getElementById("message").textContent`
	as := func(session string) {
		b.Do(browser.Command(network.SetCookie, network.SetCookieParams{Name: "sessionid", Value: session, URL: platform.Endpoints.Gateway}))
	}
	open := func() {
		b.Do(chromedp.Navigate(fmt.Sprintf("%s/cell-counter/?test=%d&report=%d", platform.Endpoints.Gateway, test, report)))
	}
	store(b.T, fmt.Sprintf(`{"sessions":[{"id":"shell-second","session_type":"lab_user","lab_id":%d,"lab_user_id":9422,"username":"una","full_name":"Una"}]}`, ownLab))
	open()
	b.shows("the cell that was not saved", says, "1 cells of observer 1. Count on, or start again")
	as("shell-second")
	b.Press(kb.Enter)
	b.shows("who counted", says, "These cells were counted by Tia. Log in as this person to save them")
	open()
	b.shows("none of them for the other login", says, "Ready: 1 keys")
	as("shell-counter")
	open()
	b.shows("they are kept", says, "1 cells of observer 1. Count on, or start again")
}
