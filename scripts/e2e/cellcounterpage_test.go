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
)

// login gives the tab a session.
func (p *page) login(session string) {
	p.t.Helper()
	p.do(protocol(network.SetCookie, network.SetCookieParams{Name: "sessionid", Value: session, URL: stack.Endpoints.Gateway}))
}

// press types keys as a person does, one after the other.
func (p *page) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// row returns the texts of a cell's row: key, name, count, per cent, absolute.
func (p *page) row(cell int) string {
	p.t.Helper()
	return p.eval(fmt.Sprintf(`[...document.querySelectorAll('tr[data-cell="%d"] td')].map((td) => td.textContent).join("|")`, cell))
}

func (p *page) says(text string) {
	p.t.Helper()
	p.awaitTrue(text, fmt.Sprintf(`document.getElementById("message").textContent.includes(%q)`, text))
}

func TestCellCounterPageCountsByTheKeyboard(t *testing.T) {
	seedTest(t, 77010)
	newReport(t, 770100)
	saved := call(t, labSession, "POST", mappingsPath+"77010", `{"lab_id":12,"target_count":10,"mappings":[
		{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1},
		{"key":"l","cell_id":3,"report_format_index":2,"report_format_order":2},
		{"key":"r","cell_id":13,"report_format_index":3,"report_format_order":3,"include_in_total":false}]}`)
	if saved.status != http.StatusOK {
		t.Fatalf("%d %s", saved.status, saved.body)
	}
	p := openPage(t, stack.Endpoints.Gateway+"/cell-counter/?test=77010")
	p.says("Nobody is logged in")
	p.login(labSession)
	p.do(chromedp.Navigate(stack.Endpoints.Gateway + "/cell-counter/?test=77010&report=770100"))
	p.says("Ready: 3 keys")
	p.clean() // the refusal before the log-in is an error of the console

	p.press("n", "N", "l", "q", "n", kb.Backspace)
	if got := p.row(1); got != "n|Neutrophil|2|67 %|" {
		t.Errorf("neutrophils %q", got)
	}
	if got := p.row(3); got != "l|Lymphocyte|1|33 %|" {
		t.Errorf("lymphocytes %q", got)
	}
	p.press("r", "r")
	if got := p.row(13); got != "r|NRBC|2|67 per 100|" || p.eval(`document.getElementById("total").textContent`) != "3" {
		t.Errorf("nucleated red cells are counted apart: %q", got)
	}
	p.press("n", "n", "n", "n", "n", "n", "n", "l", "l")
	p.says("10 cells are counted")
	if got := p.eval(`document.getElementById("total").textContent + "," + document.body.dataset.beeps`); got != "10,1" {
		t.Errorf("total and sounds: %s", got)
	}
	p.fill("wbc", "input", "12")
	if got := p.row(1); got != "n|Neutrophil|9|90 %|9.00" {
		t.Errorf("absolute numbers: %q", got)
	}
	p.screenshot("cell-counter-light.png")
	p.countTwice(t)
	if errors, foreign := p.clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
}

// holdTheNextRead keeps the page waiting for what it reads next, until go is called.
const holdTheNextRead = `(() => {
	const real = window.fetch;
	window.fetch = (path, options) => {
		if (options.method) return real(path, options);
		window.fetch = real;
		return new Promise((go) => { window.go = go; }).then(() => real(path, options));
	};
	return "held";
})()`

// countTwice saves the count as the first observer, counts as the second one, without a network in between.
func (p *page) countTwice(t *testing.T) {
	t.Helper()
	p.eval(holdTheNextRead)
	p.press(kb.Enter)
	p.says("Saved as observer 1 of report 770100")
	p.fill("observer", "change", "2")
	p.do(chromedp.Click(chromedp.CSS("#clear")))
	p.press("l", "l")
	if got := p.row(3); !strings.HasPrefix(got, "l|Lymphocyte|2|") {
		t.Errorf("keys pressed while the comparison loads: %q", got)
	}
	p.eval(`(go(), "goes on")`)
	p.do(chromedp.Click(chromedp.CSS("#clear")))
	p.offline(true)
	p.press("l", "l", "l", "l", "l", "l", "l", "l", "l", "l", kb.Enter)
	p.says("cannot be reached")
	p.clean()
	if got := p.row(3); !strings.HasPrefix(got, "l|Lymphocyte|10|100 %") {
		t.Errorf("without a network: %q", got)
	}
	p.offline(false)
	p.do(chromedp.Click(chromedp.CSS("#finish")))
	p.says("Saved as observer 2 of report 770100")
	p.awaitTrue("the comparison", `document.querySelectorAll("#agreements td.differs").length === 2`)
	p.scheme("dark")
	p.screenshot("cell-counter-dark.png")
}

// networkConditions are the parameters of a command that browsers know under its old name.
type networkConditions struct {
	Offline            bool    `json:"offline"`
	Latency            float64 `json:"latency"`
	DownloadThroughput float64 `json:"downloadThroughput"`
	UploadThroughput   float64 `json:"uploadThroughput"`
}

var emulateNetworkConditions = cdp.Command[networkConditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// offline takes the network away from the tab, or gives it back.
func (p *page) offline(on bool) {
	p.t.Helper()
	p.do(protocol(emulateNetworkConditions, networkConditions{Offline: on, DownloadThroughput: -1, UploadThroughput: -1}))
}
