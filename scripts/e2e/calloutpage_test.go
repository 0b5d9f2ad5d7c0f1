package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const boardCard = `document.querySelector('[data-report="%d"]')`

// board logs the tab in with a session and loads the page again.
func (p page) board(session string) {
	p.T.Helper()
	p.login(session)
	p.Do(chromedp.Navigate(stack.Endpoints.Gateway + "/callout/"))
	p.Await("the board of "+session, `document.getElementById("state").textContent.startsWith("Up to date")`)
}

// cutOff stops the gateway. The board reports the lost connection, and afterwards shows the results detected meanwhile.
// The browser's offline mode would not close an open stream.
func (p page) cutOff(bill int) {
	p.T.Helper()
	newCriticalBill(p.T, bill, 0, 3)
	if err := stack.Stop("gateway"); err != nil {
		p.T.Fatal(err)
	}
	p.Await("the board reports that it is cut off", `document.getElementById("state").textContent.startsWith("Connection lost")`)
	p.Screenshot("callout-cut-off.png")
	restart(p.T, "gateway")
	if got := evaluateBill(p.T, bill); got.status != 200 {
		p.T.Fatalf("%d %s", got.status, got.body)
	}
	p.Await("what came meanwhile", fmt.Sprintf(boardCard, bill+1)+` !== null && document.getElementById("state").textContent.startsWith("Up to date")`)
	p.Clean() // the browser reports the lost connection
}

// unclearAndFilter shows an unclear value next to an open result, filters by department, and checks the question before
// a call without read-back is saved.
func (p page) unclearAndFilter(bill int) {
	p.T.Helper()
	newCriticalBill(p.T, bill, 0, 3)
	applyFixture(p.T, fmt.Sprintf(`{"mysql":{"reportValues":[{"labReportId_id":%d,"index":1,"order":1,"parameter_name":"Haemoglobin","value":"5,9"}]}}`, bill+2))
	p.Eval(`document.getElementById("sound").click()`)
	if got := evaluateBill(p.T, bill); got.status != 200 {
		p.T.Fatalf("%d %s", got.status, got.body)
	}
	card := fmt.Sprintf(boardCard, bill+1)
	p.Await("the result", card+" !== null")
	p.Await("a sound", `Number(document.body.dataset.sounded) >= 1`) // or more: other tests have results here
	p.Await("the value that cannot be judged", fmt.Sprintf(`document.querySelector('[data-unclear="%d"]')?.textContent.includes("Haemoglobin 5,9") === true`, bill+2))
	p.Pictures("callout")
	choose := func(department string) {
		p.Eval(fmt.Sprintf(`((s) => { s.value = %q; s.dispatchEvent(new Event("change")); })(document.getElementById("department"))`, department))
	}
	choose("Haematology")
	p.Await("another department's board", card+` === null && !document.getElementById("unclear").hidden`)
	choose("Biochemistry")
	p.Await("the department's board", card+` !== null && document.getElementById("unclear").hidden`)
	choose("")
	p.Eval(card + ".click()")
	p.Await("the dialog", `document.getElementById("dialog").open`)
	p.Fill("person", "input", "Dr Rao")
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the question", `document.getElementById("problem").textContent.includes("not read back")`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("an attempt", card+`?.textContent.includes("tried, not reached") === true && !document.getElementById("dialog").open`)
}

// changedMeanwhile changes a value while its call is being entered. The call is refused because it states the previous
// value; the dialog shows the new value, which is then called.
func (p page) changedMeanwhile(bill int) {
	p.T.Helper()
	newCriticalBill(p.T, bill, 0, 3)
	if got := evaluateBill(p.T, bill); got.status != 200 {
		p.T.Fatalf("%d %s", got.status, got.body)
	}
	card := fmt.Sprintf(boardCard, bill+1)
	p.Await("the result", card+" !== null")
	p.Eval(card + ".click()")
	p.Await("the dialog", `document.getElementById("dialog-values").textContent.includes("7.1")`)
	execSQL(p.T, "UPDATE reportValues SET value = '7.6' WHERE labReportId_id = ? AND `index` = 2", bill+1)
	if got := evaluateBill(p.T, bill); got.status != 200 {
		p.T.Fatalf("%d %s", got.status, got.body)
	}
	p.Fill("person", "input", "Dr Rao")
	p.Eval(`document.getElementById("readback").click()`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("why it is refused", `document.getElementById("problem").textContent.includes("differ from the communicated ones")`)
	p.Await("the new value", `document.getElementById("dialog-values").textContent.includes("7.6")`)
	p.Clean() // the browser reports the refusal
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the question", `document.getElementById("problem").textContent.includes("not read back") && document.getElementById("dialog").open`)
	p.Eval(`document.getElementById("readback").click()`)
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the result disappears", card+` === null && !document.getElementById("dialog").open`)
}

// allAtOnce shows an open result, an overdue one, an unclear value and a called one that was corrected, and records a
// call about the correction.
func (p page) allAtOnce(waits, late, unclear, wrong int) {
	p.T.Helper()
	enter := func(bill, report, index int, value string) {
		execSQL(p.T, "REPLACE INTO reportValues (labReportId_id, `index`, `order`, parameter_name, value) VALUES (?, ?, ?, ?, ?)",
			report, index, index, map[int]string{1: "Haemoglobin", 2: "Potassium"}[index], value)
		if got := evaluateBill(p.T, bill); got.status != 200 {
			p.T.Fatalf("%d %s", got.status, got.body)
		}
	}
	for _, bill := range []int{waits, late, wrong} {
		newCriticalBill(p.T, bill, 0, 3)
		if got := evaluateBill(p.T, bill); got.status != 200 {
			p.T.Fatalf("%d %s", got.status, got.body)
		}
	}
	execSQL(p.T, "UPDATE callout_episode SET detected_at = detected_at - 2400000, escalations = 1 WHERE lab_report_id = ?", late+1)
	newCriticalBill(p.T, unclear, 0, 3)
	enter(unclear, unclear+2, 1, "5,9")
	insist(p.T, fmt.Sprintf("/report/%d/critical/callout", wrong), fmt.Sprintf(`{"lab_report_ids":[%d],"recipients":["a"],`+
		`"communication_methods":["call"],"read_back":true,"notified_person":"Dr Rao"}`, wrong+1))
	enter(wrong, wrong+1, 2, "4.1")
	line := fmt.Sprintf(`document.querySelector('[data-corrected="%d"]')`, wrong+1)
	p.Await("the correction", line+`?.textContent.includes("Was called: Potassium 7.1 mmol/L") === true && `+line+`.textContent.includes("no call recorded")`)
	p.Await("what waits", fmt.Sprintf(boardCard, waits+1)+` !== null`)
	p.Await("what is overdue stands first", fmt.Sprintf(boardCard, late+1)+`?.className.includes("late") === true && `+
		fmt.Sprintf(boardCard, late+1)+`.closest("ul").firstElementChild.contains(`+fmt.Sprintf(boardCard, late+1)+`)`+
		` && document.querySelector("#board h2").textContent.startsWith("Overdue")`)
	p.Await("what cannot be judged", fmt.Sprintf(`document.querySelector('[data-unclear="%d"]') !== null`, unclear+2))
	p.Pictures("callout-all")
	p.Eval(line + `.querySelector("button").focus()`)
	p.HoldEnter(`document.getElementById("dialog").open`)
	p.Await("the dialog about it", `document.getElementById("dialog").open && document.getElementById("dialog-title").textContent.includes("now corrected")`)
	p.Fill("person", "input", "Dr Rao")
	p.Eval(`document.getElementById("complete").click()`)
	p.Await("the call about it", line+`?.textContent.includes("call recorded at") === true`)
}

// keepsWhatWasTyped types a comment into the open dialog. It must survive Escape and a reload, for this login only.
func (p page) keepsWhatWasTyped(card string) {
	p.T.Helper()
	const comment = `document.getElementById("comment").value`
	reopen := func(session string) {
		p.board(session)
		p.Await("the result", card+" !== null")
		p.Eval(card + ".click()")
		p.Await("the dialog", `document.getElementById("dialog").open`)
	}
	const toldAt = `document.getElementById("told-at")`
	earlier := p.Eval(`((at) => at.defaultValue.replace(/^\d+/, (hours) => String((Number(hours) + 23) % 24).padStart(2, "0")))(` + toldAt + `)`)
	p.Fill("told-at", "input", earlier)
	p.Fill("comment", "input", "ward 7, ask again")
	p.Do(chromedp.KeyEvent(kb.Escape))
	p.Await("the board", `!document.getElementById("dialog").open`)
	p.Eval(card + ".click()")
	p.Await("what was typed, after Escape", comment+` === "ward 7, ask again" && `+toldAt+fmt.Sprintf(`.value === %q`, earlier))
	reopen("demo-admin")
	if got := p.Eval(comment + `+ "."`); got != "." {
		p.T.Errorf("another login sees %q", got)
	}
	reopen(labSession)
	p.Await("what was typed, after a reload", comment+` === "ward 7, ask again" && `+toldAt+fmt.Sprintf(`.value === %q`, earlier))
	// The user's clock is a minute ahead: the call is recorded as of now, not of yesterday.
	p.Fill("told-at", "input", p.Eval(`((minutes) => [minutes / 60 % 24, minutes % 60].map((n) => String(Math.floor(n)).padStart(2, "0")).join(":"))(`+
		toldAt+`.defaultValue.split(":").reduce((hours, minutes) => Number(hours) * 60 + Number(minutes) + 1))`))
}

// TestCalloutPageInABrowser uses the board as a person: a result appears, an attempt is recorded, the result is called
// with the keyboard only, and disappears.
func TestCalloutPageInABrowser(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway+"/callout/")
	p.Await("the way in", `location.pathname === "/"`)
	if text := p.Eval("document.body.innerText"); strings.Contains(text, "Rahul") {
		t.Errorf("without a session: %s", text)
	}
	p.Clean() // the browser reports the refusals

	p.board(labSession)
	newCriticalBill(t, 979000, 0, 3)
	card := fmt.Sprintf(boardCard, 979001)
	if p.Eval(card+" === null") != "true" {
		t.Error("a result is shown that no one evaluated")
	}
	if got := evaluateBill(t, 979000); got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	p.Await("the result", card+` !== null && `+card+`.textContent.includes("Potassium 7.1 mmol/L")`)
	if text := p.Eval(card + ".textContent"); !strings.Contains(text, "Rahul Sharma") || !strings.Contains(text, "0 min, in time") {
		t.Errorf("the card says %q", text)
	}
	for _, scheme := range []string{"light", "dark"} {
		if background, ink := p.scheme(scheme); background == ink {
			t.Errorf("%s: text %s on %s", scheme, ink, background)
		}
		p.Screenshot("callout-" + scheme + ".png")
	}

	p.Eval(card + ".focus()")
	p.HoldEnter(`document.getElementById("dialog").open`)
	p.Await("the dialog without a warning", `document.getElementById("problem").textContent === "" && `+
		`document.getElementById("dialog").open && document.activeElement.id === "person"`)
	p.Screenshot("callout-dialog.png")
	p.Fill("comment", "input", "no answer on the ward")
	p.Eval(`document.getElementById("attempt").focus()`)
	p.Do(chromedp.KeyEvent(kb.Enter))
	p.Await("the attempt on the board", card+` !== null && `+card+`.textContent.includes("tried, not reached")`)

	p.Await("the card in focus again", `!document.getElementById("dialog").open && document.activeElement === `+card)
	p.Do(chromedp.KeyEvent(kb.Enter))
	p.Await("the attempt in the history", `document.getElementById("history").textContent.includes("attempted")`)
	p.Fill("person", "input", "")
	p.Eval(`document.getElementById("complete").focus()`)
	p.Do(chromedp.KeyEvent(kb.Enter))
	p.Await("what is missing", `document.getElementById("problem").textContent === "Say who was told."`)
	p.keepsWhatWasTyped(card)
	p.Fill("person", "input", "Dr Rao <b>")
	p.Eval(`document.getElementById("readback").focus()`)
	p.Do(chromedp.KeyEvent(" "))
	p.Eval(`document.getElementById("complete").focus()`)
	p.Do(chromedp.KeyEvent(kb.Enter))
	p.Await("the result disappears", card+` === null && !document.getElementById("dialog").open`)
	p.Await("the next look agrees", `document.getElementById("state").textContent.startsWith("Up to date")`)
	if p.Eval(card+" === null") != "true" {
		t.Error("the result came back")
	}
	p.unclearAndFilter(979200)
	p.changedMeanwhile(979700)
	p.allAtOnce(979300, 979400, 979500, 979600)
	p.cutOff(979100)
	audit := call(t, labSession, "POST", "/operation/critical-callout", `{"lab_report_ids":[979001]}`)
	var found struct {
		Records []struct {
			Meta struct {
				ReadBack bool      `json:"read_back"`
				Told     string    `json:"notified_person"`
				At       time.Time `json:"notified_at"`
			} `json:"critical_callout_meta"`
		}
	}
	if err := json.Unmarshal([]byte(audit.body), &found); err != nil || len(found.Records) != 1 ||
		!found.Records[0].Meta.ReadBack || found.Records[0].Meta.Told != "Dr Rao <b>" || time.Since(found.Records[0].Meta.At) > time.Hour {
		t.Errorf("the callout: %s", audit.body)
	}

	p.board(otherSession)
	p.Await("nothing of laboratory 12", `document.getElementById("board").textContent === "No critical result waits for a call."`)
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
}
