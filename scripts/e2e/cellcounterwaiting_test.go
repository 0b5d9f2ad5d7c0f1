package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestCellCounterPageBeginsWithTheSmearsThatWait follows a smear. No number is typed: the first observer opens it from
// the list, it stays listed for the second observer, who is another person, and then it is no longer listed.
func TestCellCounterPageBeginsWithTheSmearsThatWait(t *testing.T) {
	p, report := counterPage(t, 77021)
	row := fmt.Sprintf(`[...document.querySelectorAll("#waiting tbody tr")].find((tr) => tr.textContent.startsWith("E2E-%d"))`, report)
	list := func(what, text string) {
		t.Helper()
		p.Await(what, fmt.Sprintf(`!document.getElementById("waiting").hidden && %s?.textContent.includes(%q) === true`, row, text))
	}
	p.visit("/cell-counter/", row+" !== undefined")
	list("who is missing", "DifferentialBoth observers")
	p.Pictures("cell-counter-waiting")
	p.Eval(`(` + row + `.click(), "opened")`)
	p.Await("its keys", `document.querySelectorAll("#cells tr").length > 0 && document.getElementById("observer").value === "1" && document.getElementById("waiting").hidden`)
	p.Press("n", "n", "l", kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	list("the next smears after a save", "Observer 2You (the other observer is another person), ")
	p.Press("n")
	p.Await("a count hides the list", `document.getElementById("waiting").hidden`)
	p.Press(kb.Backspace)
	p.login(editor(t, 12))
	p.visit("/cell-counter/", row+" !== undefined")
	list("who counted first", "Observer 2Asha Ranade, ")
	total := p.Eval(`document.querySelector("#waiting h2").textContent`)
	p.visit("/", fmt.Sprintf(`document.getElementById("cells").textContent === %q`, total))
	p.visit("/cell-counter/", row+" !== undefined")
	p.Eval(`(` + row + `.querySelector("a").click(), "opened")`)
	p.Await("its keys, as the observer who is missing", `document.querySelectorAll("#cells tr").length > 0 && document.getElementById("observer").value === "2"`)
	p.Press("n", "l", "l", kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 2 of report %d", report))
	p.Await("it waits no more", `!document.getElementById("waiting").hidden && document.querySelector("#waiting h2").textContent !== "" && `+row+" === undefined")
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
}

// TestCellCounterPageShowsNoOldNumberOfAList reloads the list while the server is unreachable. The number of entries
// must disappear.
func TestCellCounterPageShowsNoOldNumberOfAList(t *testing.T) {
	p, _ := counterPage(t, 77026)
	heading := `document.querySelector("#waiting h2").textContent`
	p.visit("/cell-counter/", heading+` !== ""`)
	load := `(document.dispatchEvent(new Event("visibilitychange")), "loaded again")`
	p.offline(true)
	p.Eval(load)
	p.Await("an error and no number", `document.querySelector("#waiting [role=status]").textContent.startsWith("The list cannot be shown.") && `+heading+` === ""`)
	p.offline(false)
	p.Eval(load)
	p.Await("the number", heading+` !== ""`)
	p.Clean()
}

// TestCellCounterPageCountsInOneTab opens a count in a second tab. Then only the second tab counts cells, and no cell
// is lost when the first tab loads the count again.
func TestCellCounterPageCountsInOneTab(t *testing.T) {
	p, report := counterPage(t, 77022)
	p.Fill("wbc", "input", "12")
	p.Press("n", "n", "l")
	p.Eval(fmt.Sprintf(`(window.second = window.open("/cell-counter/?test=77022&report=%d"), "opened")`, report))
	p.Await("the second tab has the cells", `second.document.getElementById("total")?.textContent === "3"`)
	p.says("This count was opened in another tab of this browser, with all its cells")
	if got := p.Eval(`document.getElementById("wbc").value`); got != "" {
		t.Errorf("the white cell count stays for the next sample: %s", got)
	}
	p.Press("n", "n")
	p.Eval(`(["n", "n", "l"].forEach((key) => second.document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}))), "typed")`)
	p.Await("the second tab counts", `second.document.getElementById("total").textContent === "6"`)
	p.Do(chromedp.Click(chromedp.CSS("#load")))
	p.says(": 6 cells of observer 1. Count on, or start again")
	p.Await("the second tab gave it back", `second.document.getElementById("message").textContent.startsWith("This count was opened in another tab")`)
	p.Press("l", kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	if got := call(t, labSession, "GET", fmt.Sprintf("%s77022/counts/%d", mappingsPath, report), "").body; !strings.Contains(got, `{"cell_id":1,"count":4,"include_in_total":true},{"cell_id":3,"count":3,`) {
		t.Errorf("stored %s, want 4 and 3 cells", got)
	}
	p.Eval(`(second.close(), "closed")`)
}

// TestCellCounterPageKeepsACountForItsCounter leaves cells unsaved. Another login in the same browser must not get
// them; the login that counted them does.
func TestCellCounterPageKeepsACountForItsCounter(t *testing.T) {
	p, report := counterPage(t, 77023)
	p.Press("n", "n", "l")
	p.login(editor(t, 12))
	p.atReport(77023, report)
	p.says("Ready: 5 keys")
	if got := p.total(); got != "0" {
		t.Errorf("another login has %s cells, want none", got)
	}
	p.Press("l")
	p.login(labSession)
	p.atReport(77023, report)
	p.says(": 3 cells of observer 1. Count on, or start again")
	p.Press(kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
}

// TestCellCounterPageRestoresNoCountWithoutALogin stores a count as version 1.0.0 did, without a login; the page must
// remove it.
func TestCellCounterPageRestoresNoCountWithoutALogin(t *testing.T) {
	p, report := counterPage(t, 77024)
	name := fmt.Sprintf("cell-counter:77024:%d:1", report)
	p.Eval(fmt.Sprintf(`(localStorage.setItem(%q, JSON.stringify({subject: {test: 77024, report: %d, observer: 1},
		count: {history: [1, 1, 3], target: 10}, at: Date.now()})), "stored")`, name, report))
	p.atReport(77024, report)
	p.says("Ready: 5 keys")
	if got := p.total() + " " + p.Eval(fmt.Sprintf(`String(localStorage.getItem(%q))`, name)); got != "0 null" {
		t.Errorf("cells and what is stored: %s, want 0 null", got)
	}
}

// TestCellCounterPageSavesNoCountOfAnUnknownLogin loads keys and counts while the page cannot request the login. The
// count is saved only after that is possible again and the user has confirmed having counted. A held Enter key does not
// answer the question that it caused.
func TestCellCounterPageSavesNoCountOfAnUnknownLogin(t *testing.T) {
	p, report := counterPage(t, 77025)
	p.Eval(`(() => {
		const real = window.fetch;
		window.outage = true;
		window.fetch = (path, options) => window.outage && path === "/sign-in/person" ? Promise.reject(new TypeError("outage")) : real(path, options);
		return "down";
	})()`)
	p.Eval(`(document.getElementById("message").textContent = "", "cleared")`)
	p.Do(chromedp.Click(chromedp.CSS("#load")))
	p.says("Ready: 5 keys")
	p.Press("n", "n", "l", kb.Enter)
	p.says("it cannot be checked who is logged in")
	p.Eval(`(window.outage = false, "up")`)
	for _, answer := range []string{"#no", "#yes"} {
		p.HoldEnter(`document.getElementById("ask")?.open === true`)
		p.Await("a question", `document.getElementById("ask")?.open && document.getElementById("question").textContent.includes("who counted these 3 cells. Did Asha Ranade count")`)
		if got := call(t, labSession, "GET", fmt.Sprintf("%s77025/counts/%d", mappingsPath, report), "").body; !strings.Contains(got, `"observers":[]`) {
			t.Errorf("stored before the answer: %s", got)
		}
		p.Do(chromedp.Click(chromedp.CSS(answer)))
		p.Await("the answer", `document.getElementById("ask").open === false`)
	}
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
}
