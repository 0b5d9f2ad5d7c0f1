package capture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	pagePatient  = `document.getElementById("patient")?.textContent ?? ""`
	pageCommands = `document.querySelector("dialog.command[open]") ? document.getElementById("command-text").value + ": " + document.querySelector("dialog.command").innerText : "closed"`
	pageChoices  = `[...document.querySelectorAll("#choices button")].map((b) => b.textContent).join("; ")`
)

// A receptionist scans the barcode of a sample, sees whose it is, and opens the bill; the number of the bill leads to the same
// page, and not to the bill that has this number as its id.
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
	b.Press(kb.Enter) // as a scanner does
	b.shows("what can be done with the sample", pageCommands, "Sample SHELL-401 · Rosalind Thackeray")
	b.shows("the bill by its printed number", pageCommands, fmt.Sprintf("Open bill %d", second*10))
	b.Pictures("shell-command")
	b.Press(kb.Enter)
	b.shows("whose bill it is", pagePatient, "Rosalind Thackeray")
	b.shows("her sample", pagePatient, "SHELL-401")
	b.Pictures("shell-bill")

	b.Fill("bill", "input", fmt.Sprint(second*10)) // printed on the first bill, and the id of the second
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

// A number that means two things offers both, each with its patient.
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

// An organization sees the pages that it may use, and no refusal.
func TestALoginSeesTheNavigationThatItMayUse(t *testing.T) {
	store(t, fmt.Sprintf(`{"sessions":[{"id":"shell-org","session_type":"organization","lab_id":%d,"org_id":45,"username":"apollo"}]}`, ownLab))
	b := openTab(t, "shell-org", platform.Endpoints.Gateway+"/search/")
	const links = `[...document.querySelectorAll("nav.pages > a")].map((a) => a.textContent).join(",")`
	b.shows("who is logged in", `document.querySelector(".person")?.textContent ?? ""`, "apollo")
	if got := b.Eval(links); !strings.HasSuffix(got, "Patients,Notifications") {
		t.Errorf("the navigation of an organization is %s", got)
	}
}
