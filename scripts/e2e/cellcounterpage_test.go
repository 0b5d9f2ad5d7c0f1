package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// login gives the tab the cookie of a session.
func (p page) login(session string) {
	p.T.Helper()
	p.Do(browser.Command(network.SetCookie, network.SetCookieParams{Name: "sessionid", Value: session, URL: stack.Endpoints.Gateway}))
}

// row returns the texts of a cell's row, joined by |: key, name, count, per cent, absolute.
func (p page) row(cell int) string {
	p.T.Helper()
	return p.Eval(fmt.Sprintf(`[...document.querySelectorAll('tr[data-cell="%d"] td')].map((td) => td.textContent).join("|")`, cell))
}

func (p page) says(text string) {
	p.T.Helper()
	p.Await(text, fmt.Sprintf(`document.getElementById("message").textContent.includes(%q)`, text))
}

// counterPage opens the counting page at a report of a test. The keys are n, 2 and l, and r and s for cells that are
// counted separately.
func counterPage(t *testing.T, test int) (p page, report int) {
	t.Helper()
	report = test * 10
	seedTest(t, test)
	applyFixture(t, fmt.Sprintf(`{"mysql":{"labReportRelation":[{"id":%d,"labId_id":12,"billId_id":9001,"billingInfoId_id":8001,
		"userDetailsId_id":501,"reportID_id":%d,"sampleId":"E2E-%d"}]}}`, report, test, report))
	saved := call(t, labSession, "POST", fmt.Sprint(mappingsPath, test), `{"lab_id":12,"target_count":10,"mappings":[
		{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1},
		{"key":"2","cell_id":1,"report_format_index":5,"report_format_order":5},
		{"key":"l","cell_id":3,"report_format_index":2,"report_format_order":2},
		{"key":"r","cell_id":13,"report_format_index":3,"report_format_order":3,"include_in_total":false},
		{"key":"s","cell_id":14,"report_format_index":4,"report_format_order":4,"include_in_total":false}]}`)
	if saved.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", saved.status, saved.body)
	}
	p = openPage(t, fmt.Sprintf("%s/cell-counter/?test=%d", stack.Endpoints.Gateway, test))
	p.Await("the way in", `location.pathname === "/"`)
	p.login(labSession)
	p.atReport(test, report)
	p.Clean() // the refusal before the login is an error in the console
	return p, report
}

// atReport loads the page at a report of the test.
func (p page) atReport(test, report int) {
	p.T.Helper()
	p.Do(chromedp.Navigate(fmt.Sprintf("%s/cell-counter/?test=%d&report=%d", stack.Endpoints.Gateway, test, report)))
	p.Await("the keys", `document.querySelectorAll("#cells tr").length > 0`)
}

func (p page) total() string {
	p.T.Helper()
	return p.Eval(`document.getElementById("total").textContent`)
}

// want compares the texts of a row, in the form of row.
func (p page) want(what string, cell int, want string) {
	p.T.Helper()
	if got := p.row(cell); got != want {
		p.T.Errorf("%s: %q, want %q", what, got, want)
	}
}

// keyStroke holds the parameters of Input.dispatchKeyEvent. A held key sends the command repeatedly.
type keyStroke struct {
	Type       string `json:"type"`
	Key        string `json:"key"`
	Code       string `json:"code,omitempty"`
	Text       string `json:"text,omitempty"`
	AutoRepeat bool   `json:"autoRepeat,omitempty"`
}

var dispatchKeyEvent = cdp.Command[keyStroke, cdp.Empty]{Method: "Input.dispatchKeyEvent"}

// hold presses a key until it has repeated fifteen times.
func (p page) hold(key, text string) {
	p.T.Helper()
	for i := range 16 {
		p.Do(browser.Command(dispatchKeyEvent, keyStroke{Type: "keyDown", Key: key, Text: text, AutoRepeat: i > 0}))
	}
	p.Do(browser.Command(dispatchKeyEvent, keyStroke{Type: "keyUp", Key: key}))
}

func TestCellCounterPageCountsByTheKeyboard(t *testing.T) {
	p, report := counterPage(t, 77010)
	p.says("Ready: 5 keys")
	p.Press("n", "N", "l", "q", "2", kb.Backspace)
	p.want("neutrophils", 1, "n or 2|Neutrophil|2|67 %|")
	p.want("lymphocytes", 3, "l|Lymphocyte|1|33 %|")
	p.Press("r", "r")
	p.want("nucleated red cells are counted apart", 13, "r|NRBC|2|67 per 100|")
	p.Press("n", "n", "n", "n", "n", "2", "2", "l", "l")
	p.says("10 cells are counted")
	if got := p.Eval(`document.getElementById("total").textContent + "," + document.body.dataset.beeps`); got != "10,1" {
		t.Errorf("total and sounds: %s", got)
	}
	p.Fill("wbc", "input", "12")
	p.want("absolute numbers without 20 nucleated red cells per 100", 1, "n or 2|Neutrophil|9|90 %|9.00")
	p.Do(chromedp.Click(chromedp.CSS("#corrected-already")))
	p.want("as the analyser has them", 1, "n or 2|Neutrophil|9|90 %|10.80")
	p.Do(chromedp.Click(chromedp.CSS("#corrected-already")))
	p.Press(kb.Backspace, "s", "s", "s", "l")
	p.want("smudge cells correct nothing", 1, "n or 2|Neutrophil|8|80 %|8.00")
	p.Pictures("cell-counter")
	p.countTwice(t, report)
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
}

// A held key must count one cell, and Enter must end the count wherever the focus is.
func TestCellCounterPageCountsWhatWasPressedAndNothingElse(t *testing.T) {
	p, report := counterPage(t, 77011)
	p.hold("n", "n")
	if got := p.total(); got != "1" {
		t.Errorf("one long press counts %s cells", got)
	}
	p.Press("n", "l", "l")
	p.hold("Backspace", "")
	if got := p.total(); got != "3" {
		t.Errorf("one long Backspace leaves %s of 4 cells", got)
	}
	p.Do(chromedp.Click(chromedp.CSS("#undo")))
	p.Eval(`(document.getElementById("undo").focus(), "focused")`) // like the Tab key
	p.Press("n")
	if got := p.total(); got != "3" {
		t.Errorf("after a click on undo and one more: %s", got)
	}
	p.Screenshot("cell-counter-before-enter.png")
	p.Press(kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	if got := p.total(); got != "0" {
		t.Errorf("after a save there are %s cells", got)
	}
	stored := func() string {
		return call(t, labSession, "GET", fmt.Sprintf("%s77011/counts/%d", mappingsPath, report), "").body
	}
	saved := stored()
	if !strings.Contains(saved, `{"cell_id":1,"count":3,"include_in_total":true},{"cell_id":3,"count":0,`) {
		t.Errorf("stored %s", saved)
	}
	p.wantOfTheLoadedReportAlone(report)
	if now := stored(); now != saved {
		t.Errorf("a count of another report changed it: %s", now)
	}
}

// wantOfTheLoadedReportAlone enters another report after a save. No key may count until the keys of that report are
// loaded, and then its count must not be saved, because the report belongs to another test.
func (p page) wantOfTheLoadedReportAlone(report int) {
	p.T.Helper()
	p.Fill("wbc", "input", "12")
	p.Fill("report", "change", "7001") // a report of another test
	p.Press("n")
	p.says(fmt.Sprintf("and report %d are loaded, so this cell is not counted", report))
	if got := p.total(); got != "0" {
		p.T.Errorf("%s cells of a report whose keys are not loaded", got)
	}
	p.Do(chromedp.Click(chromedp.CSS("#load")))
	p.says("Ready: 5 keys")
	if got := p.Eval(`document.getElementById("wbc").value`); got != "" {
		p.T.Errorf("the white cell count of the previous report stays: %s", got)
	}
	p.Press("n", kb.Enter)
	p.says("The report is not of this test")
	p.Clean()
}

// A count belongs to the test and report whose keys were loaded. It survives a reload, and the page asks before it
// discards a count.
func TestCellCounterPageKeepsACount(t *testing.T) {
	p, report := counterPage(t, 77012)
	p.Press("n", "n", "l")
	if got := p.Eval(`[document.getElementById("test").disabled, document.getElementById("report").disabled].join()`); got != "true,true" {
		t.Errorf("the fields of a count that has cells are locked: %s", got)
	}
	p.Eval(`(document.getElementById("test").value = "77010", "typed")`)
	p.atReport(77012, report)
	p.says(": 3 cells of observer 1. Count on, or start again")
	p.want("after a reload", 1, "n or 2|Neutrophil|2|67 %|")
	p.Screenshot("cell-counter-kept.png")
	p.Do(chromedp.Navigate(stack.Endpoints.Gateway + "/cell-counter/"))
	p.says(": 3 cells of observer 1. Count on, or start again")

	for _, button := range []string{"#clear", "#load"} {
		p.Do(chromedp.Click(chromedp.CSS(button)))
		p.Await("a question", `document.getElementById("ask")?.open === true`)
		p.Press("n", kb.Enter) // Enter keeps the count; keys do not count during a question
		p.Await("the answer", `document.getElementById("ask").open === false`)
		if got := p.total(); got != "3" {
			t.Errorf("after %s and keeping the count: %s", button, got)
		}
	}
	p.Do(chromedp.Click(chromedp.CSS("#clear")))
	p.Await("a question", `document.getElementById("ask")?.open === true`)
	p.Screenshot("cell-counter-asks.png")
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	p.says("New count started")
	p.Do(chromedp.Navigate(stack.Endpoints.Gateway + "/cell-counter/"))
	p.says("Enter a sample or a test")
}

// Once a count has begun, mapped keys count wherever the focus is. The field of the white cell count accepts digits
// after it is selected again. A key that counts nothing is reported, and with a keyboard layout that is not Latin the
// position of a key decides.
func TestCellCounterPageCountsWhereverTheFocusIs(t *testing.T) {
	p, _ := counterPage(t, 77013)
	white := func() string { return p.Eval(`document.getElementById("wbc").value`) }
	p.Do(chromedp.Click(chromedp.CSS("#wbc")))
	p.Press("1", "2") // 2 is mapped, but no count has begun
	if got := white() + " " + p.total(); got != "12 0" {
		t.Errorf("digits before the count: white cells and total %s, want 12 0", got)
	}
	p.Press("n", "2")
	if got := white() + " " + p.total(); got != "12 2" {
		t.Errorf("mapped keys with the focus in the field: %s, want 12 2", got)
	}
	p.Do(chromedp.Click(chromedp.CSS("#wbc")))
	p.Press("2")
	if got := white() + " " + p.total(); got != "122 2" {
		t.Errorf("a digit after the field is chosen again: %s, want 122 2", got)
	}
	p.Press("l", "x")
	p.says("The key x is mapped to no cell")
	p.Do(browser.Command(dispatchKeyEvent, keyStroke{Type: "keyDown", Key: "т", Code: "KeyN"}))
	if got := p.Eval(`document.getElementById("total").textContent + "," + document.body.dataset.misses`); got != "4,1" {
		t.Errorf("total and keys that counted nothing: %s, want 4,1", got)
	}
	p.Do(chromedp.Click(chromedp.CSS("#touch")))
	p.Do(chromedp.Click(chromedp.CSS(`#keypad button[data-cell="3"]`)))
	p.want("a touch on the keypad", 3, "l|Lymphocyte|2|40 %|48.80")
	p.Pictures("cell-counter-keypad")
	p.Do(chromedp.Click(chromedp.CSS("#undo")))
	p.Fill("wbc", "input", "7,5")
	p.want("a decimal comma", 1, "n or 2|Neutrophil|3|75 %|5.63")
	p.Fill("wbc", "input", "7 5")
	p.says("is no number")
	p.want("no white cell count", 1, "n or 2|Neutrophil|3|75 %|")
}

// A stray key and Enter after a save must not replace the saved count: the page asks, and names the person who made it.
func TestCellCounterPageAsksBeforeItReplacesACount(t *testing.T) {
	p, report := counterPage(t, 77013)
	stored := func(version int) {
		t.Helper()
		path := fmt.Sprintf("%s77013/counts/%d", mappingsPath, report)
		if got := call(t, labSession, "GET", path, ""); !strings.Contains(got.body, fmt.Sprintf(`"version":%d`, version)) {
			t.Errorf("stored: %s, want version %d", got.body, version)
		}
	}
	p.Press("n", "n", "n", "l", kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	p.Press("l", kb.Enter)
	p.Await("a question", `document.getElementById("ask")?.open && document.getElementById("question").textContent.startsWith("4 cells of observer 1 by Asha Ranade")`)
	p.Press(kb.Enter) // keeps the saved count
	p.says("4 cells of observer 1 are stored")
	p.Clean() // the refusal is an error in the console
	stored(1)
	p.Press(kb.Enter)
	p.Await("a question", `document.getElementById("ask")?.open === true`)
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	p.Clean()
	stored(2)
}

// The sample is drawn again while its smear is counted. The count must not become one of the new sample without the
// user's agreement.
func TestCellCounterPageAsksForWhichSampleACountIs(t *testing.T) {
	p, report := counterPage(t, 77014)
	p.Press("n", "n", "l")
	execSQL(t, "UPDATE labReportRelation SET sampleId = 'E2E-77014-B' WHERE id = ?", report)
	asks := `document.getElementById("ask")?.open && document.getElementById("question").textContent.includes("has sample E2E-77014-B now")`
	stored := func() string {
		return call(t, labSession, "GET", fmt.Sprintf("%s77014/counts/%d", mappingsPath, report), "").body
	}
	p.Press(kb.Enter)
	p.Await("a question", asks)
	p.Press(kb.Enter) // keeps the count
	p.says("count the present sample")
	p.Clean() // the refusal is an error in the console
	if got := stored(); !strings.Contains(got, `"observers":[]`) {
		t.Errorf("stored: %s, want no count", got)
	}
	p.Press(kb.Enter)
	p.Await("a question", asks)
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	p.Clean()
	if got := stored(); !strings.Contains(got, `"version":1`) || !strings.Contains(got, `"other_sample":false`) {
		t.Errorf("stored: %s, want a count of the present sample", got)
	}
}

// holdTheNextRead delays the next request for stored counts until go is called in the page.
const holdTheNextRead = `(() => {
	const real = window.fetch;
	window.fetch = (path, options) => {
		if (options.method || !path.includes("/counts/")) return real(path, options);
		window.fetch = real;
		return new Promise((go) => { window.go = go; }).then(() => real(path, options));
	};
	return "held";
})()`

// countTwice saves the count as the first observer. Another user then counts as the second observer, without a network
// in between.
func (p page) countTwice(t *testing.T, report int) {
	t.Helper()
	p.Eval(holdTheNextRead)
	p.Press(kb.Enter)
	p.says(fmt.Sprintf("Saved as observer 1 of report %d", report))
	p.Press("l", "l")
	p.want("keys pressed while the comparison loads", 3, "l|Lymphocyte|2|100 %|12.00")
	p.Eval(`(go(), "continues")`)
	p.Fill("observer", "change", "2")
	p.Await("a question", `document.getElementById("ask")?.open === true`)
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	p.Await("the answer", `document.getElementById("ask").open === false`)
	p.Press(kb.Enter)
	p.says("the second observer must be another person")
	p.Clean()
	p.login(editor(t, 12))
	p.Press(kb.Enter)
	p.says("counted by Asha Ranade. Log in as this person to save them, or start again")
	p.Do(chromedp.Click(chromedp.CSS("#clear")))
	p.Await("a question", `document.getElementById("ask").open`)
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	p.says("New count started")
	p.Press("l")
	p.Await("the count is the editor's", `Object.keys(localStorage).some((name) => name.endsWith(":2:demo "))`)
	p.offline(true)
	p.Press("l", "l", "l", "l", "l", "l", "l", "l", "l", kb.Enter)
	p.says("it cannot be checked who is logged in")
	p.Clean()
	p.want("without a network", 3, "l|Lymphocyte|10|100 %|12.00")
	p.offline(false)
	p.Do(chromedp.Click(chromedp.CSS("#finish")))
	p.says(fmt.Sprintf("Saved as observer 2 of report %d", report))
	p.Await("the comparison", `document.querySelectorAll("#agreements td.differs").length === 2`)
	p.Pictures("cell-counter-compared")
}

// networkConditions holds the parameters of Network.emulateNetworkConditions, the previous name of the command, which
// browsers know.
type networkConditions struct {
	Offline            bool    `json:"offline"`
	Latency            float64 `json:"latency"`
	DownloadThroughput float64 `json:"downloadThroughput"`
	UploadThroughput   float64 `json:"uploadThroughput"`
}

var emulateNetworkConditions = cdp.Command[networkConditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// offline disconnects the tab from the network, or connects it again.
func (p page) offline(on bool) {
	p.T.Helper()
	p.Do(browser.Command(emulateNetworkConditions, networkConditions{Offline: on, DownloadThroughput: -1, UploadThroughput: -1}))
	p.Await("the network is as wanted", fmt.Sprintf("navigator.onLine !== %t", on))
}
