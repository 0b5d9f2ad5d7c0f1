package calloutboard

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// wide sets the size of the window.
func wide(p *browser.Page, width, height int64) {
	p.T.Helper()
	p.Do(browser.Command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}))
}

// inView returns the number of results whose cards are completely visible.
func inView(p *browser.Page) int {
	p.T.Helper()
	n, err := strconv.Atoi(p.Eval(`[...document.querySelectorAll("#board [data-report]")].filter((e) => e.getBoundingClientRect().bottom <= innerHeight).length`))
	if err != nil {
		p.T.Fatal(err)
	}
	return n
}

// TestACompactBoardShowsFortyResults shows 60 results of five departments on a small screen, the overdue ones first.
// The choice of the compact view is remembered. No value and no patient is cut off.
func TestACompactBoardShowsFortyResults(t *testing.T) {
	const results = 60
	s := serve(t, "", nil)
	_, s.bodies = newer()
	var open []string
	for i := range results {
		name := []string{"Biochemistry", "Haematology", "Immunology", "Microbiology", "Serology"}[i%5]
		overdue := 0
		if i%20 == 19 {
			overdue = 2
		}
		patient := []string{"Mohammed Yusuf Khan", "Baby of Kavita Jadhav", "Debashish Chatterjee", "Sunita Anil Patil", "Gurpreet Kaur"}[i%5]
		open = append(open, strings.NewReplacer("Meena Joshi", patient, "ASH-1", fmt.Sprintf("ASH-%06d", 501+i)).Replace(waiting(100+i, name, 1+i%50, overdue, "")))
	}
	s.worklist = list(open, "")
	p := show(t, s)
	wide(p, 1366, 768)
	cards := inView(p)
	p.Eval(`document.getElementById("compact").click()`)
	if n := inView(p); n < 40 || n <= cards {
		t.Errorf("%d results in view, %d as cards, want at least 40", n, cards)
	} else {
		t.Logf("%d results in view, %d as cards", n, cards)
	}
	p.Screenshot("board-compact.png")
	const first = `[...document.querySelectorAll("#board h2, #board [data-report]")].map((e) => e.dataset.report ?? e.textContent).slice(0, 6).join("; ")`
	if got, want := p.Eval(first), "Overdue (3); 139; 119; 159; Waiting (57); 100"; got != want {
		t.Errorf("the board begins with %q, want %q", got, want)
	}
	const cut = `[...document.querySelectorAll("#board :is(.values, .name, .age, .claim)")].filter((e) => e.scrollWidth > e.clientWidth + 1).length`
	if n := p.Eval(cut); n != "0" {
		t.Errorf("%s values, patients or times are cut", n)
	}
	p.Do(chromedp.Navigate(s.URL + "/callout/"))
	p.Await("the compact board, after a reload", `document.querySelector("#board.compact [data-report]") !== null`)
	p.Eval(`document.getElementById("compact").click()`)
	p.Await("cards again", `document.querySelector("#board:not(.compact) [data-report]") !== null`)
	wantClean(p)
}

// TestLongNamesWrap checks names without a blank, several values and a caller's name, at every width and at 200 %.
func TestLongNamesWrap(t *testing.T) {
	s := serve(t, "", nil)
	_, s.bodies = newer()
	long := strings.NewReplacer("Meena Joshi", strings.Repeat("Srinivasaraghavan", 4), "Electrolytes", strings.Repeat("Immunoelectrophoresis", 3),
		`"critical_parameters":[`, `"claim":{"name":"`+strings.Repeat("Venkatanarasimha", 3)+`","since":"2026-11-26T09:58:00Z","until":"2099-11-26T10:08:00Z","mine":false},"critical_parameters":[`+
			strings.Repeat(potassium("7.9")+",", 4))
	s.worklist = long.Replace(list([]string{waiting(11, "Biochemistry", 5, 0, ""), waiting(21, "Serology", 55, 3, "")}, ""))
	p := show(t, s)
	for _, compact := range []string{"", "compact"} {
		for _, width := range []int64{1366, 768, 683, 360} {
			wide(p, width, 768)
			if got := p.Eval("document.documentElement.scrollWidth"); got != fmt.Sprint(width) {
				t.Errorf("%s: %s wide on %d", compact, got, width)
			}
			const over = `[...document.querySelectorAll("#board .card")].filter((e) => e.scrollWidth > e.clientWidth + 1 || [...e.children].some((c) => c.getBoundingClientRect().right > e.getBoundingClientRect().right + 1)).length`
			if n := p.Eval(over); n != "0" {
				t.Errorf("%s, %d wide: %s cards are too narrow for their text", compact, width, n)
			}
		}
		p.Pictures("board-long" + compact)
		p.Eval(`document.getElementById("compact").click()`)
	}
	wantClean(p)
}
