package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

const (
	dialogClaim   = `document.getElementById("claim-text").textContent`
	dialogProblem = `document.getElementById("problem").textContent`
	dialogOpen    = `document.getElementById("dialog").open`
)

// opened opens the dialog of a result on the board.
func (p page) opened(report int) {
	p.T.Helper()
	p.Await("the result", fmt.Sprintf(boardCard, report)+" !== null")
	p.Eval(fmt.Sprintf(boardCard, report) + ".click()")
	p.Await("the dialog", dialogOpen)
}

func waitingResult(t *testing.T, bill int) (report int) {
	t.Helper()
	newCriticalBill(t, bill, 0, 3)
	if got := evaluateBill(t, bill); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	return bill + 1
}

// TestCalloutTwoPeopleAtTheBoard is a scenario of two users. Asha states that she is calling, Sunita sees it at once,
// takes the claim over after a question, and records the call. A claim is information only: the call could have been
// recorded without it.
func TestCalloutTwoPeopleAtTheBoard(t *testing.T) {
	report := waitingResult(t, 980300)
	asha, sunita := openPage(t, stack.Endpoints.Gateway), openPage(t, stack.Endpoints.Gateway)
	asha.board(labSession)
	sunita.board("demo-admin")
	asha.opened(report)
	press := `document.getElementById("claim-button").click()`
	asha.Eval(press)
	asha.Await("her claim", dialogClaim+`.startsWith("You are calling since ")`)
	onBoard := fmt.Sprintf(boardCard, report) + `?.querySelector(".claim")?.textContent ?? "no one"`
	sunita.Await("the claim on the other board", `(`+onBoard+`).startsWith("Asha Ranade is calling since ")`)
	sunita.opened(report)
	asha.Pictures("callout-claim")
	sunita.Eval(`window.confirm = (text) => { window.question = text; return true; }`)
	sunita.Eval(press)
	sunita.Await("taken over", dialogClaim+`.startsWith("You are calling since ")`)
	if got := sunita.Eval(`window.question.startsWith("Asha Ranade is calling since ") && window.question.endsWith("Take over?")`); got != "true" {
		t.Errorf("asked %q", sunita.Eval("window.question"))
	}
	asha.Await("who took over", dialogClaim+`.startsWith("Sunita Deshpande is calling since ")`)
	sunita.Eval(press)
	asha.Await("given up", dialogClaim+` === ""`)
	asha.Eval(press)
	asha.Await("hers again", dialogClaim+`.startsWith("You are calling")`)
	sunita.Fill("person", "input", "Dr Rao")
	sunita.Eval(`document.getElementById("readback").click()`)
	sunita.Eval(`document.getElementById("complete").click()`)
	for _, p := range []page{asha, sunita} {
		p.Await("the result left the board", fmt.Sprintf(boardCard, report)+" === null")
		if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
			t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
		}
	}
}

// TestCalloutTextSurvivesASplitAndALostSession splits the bill while the dialog is open, and ends the session before
// the callout is saved. The typed text stays, and the callout is recorded on the new bill.
func TestCalloutTextSurvivesASplitAndALostSession(t *testing.T) {
	const bill = 979900
	report := waitingResult(t, bill)
	execSQL(t, "UPDATE billing SET source = 'Insurance' WHERE id = ?", bill)
	execSQL(t, "INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, testAmount) VALUES (?, ?, 12, 55, 500)", bill+5, bill)
	p := openPage(t, stack.Endpoints.Gateway)
	p.board(labSession)
	p.opened(report)
	p.Fill("person", "input", "Sister Mary")
	p.Fill("comment", "input", "ward 7, second floor")
	p.Eval(`document.getElementById("readback").click()`)
	split := newBill(t, call(t, labSession, "POST", fmt.Sprint(splitPath, bill), fmt.Sprintf(`{"test_ids":[%d]}`, bill)))
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("where the result is now", dialogProblem+`.startsWith("This result moved to another bill by a split")`)
	if got, want := p.Eval(`document.querySelector("#problem a").getAttribute("href")`), fmt.Sprintf("/bill/?bill=%d", split); got != want {
		t.Errorf("linked: %s, want %s", got, want)
	}
	const typed = `[...document.querySelectorAll("#person, #comment")].map((e) => e.value).join("; ")`
	if got := p.Eval(typed); got != "Sister Mary; ward 7, second floor" {
		t.Errorf("after the split %q is left", got)
	}
	p.Pictures("callout-bill-changed")

	p.Do(browser.Command(network.ClearBrowserCookies, cdp.Empty{}))
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the way in", `location.pathname === "/" && document.querySelectorAll(".people button").length > 0`)
	p.Eval(`[...document.querySelectorAll(".people button")].find((b) => b.value === "Asha Ranade").click()`)
	p.Await("the board", `location.pathname === "/callout/" && document.getElementById("state")?.textContent.startsWith("Up to date") === true`)
	p.opened(report)
	p.Await("what was typed, with a new session", typed+` === "Sister Mary; ward 7, second floor"`)
	p.Clean() // the browser reports the refusals
	p.Eval(`document.getElementById("readback").click()`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the result left the board", fmt.Sprintf(boardCard, report)+` === null && !`+dialogOpen)
	if n := count(t, fmt.Sprintf("SELECT COUNT(*) FROM CriticalCallout WHERE bill_id = %d AND lab_report_id = %d", split, report)); n != 1 {
		t.Errorf("%d callouts on the new bill, want 1", n)
	}
	p.Do(chromedp.Navigate(stack.Endpoints.Gateway + "/callout/"))
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
}
