package capture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

type tab struct{ *browser.Page }

func openTab(t *testing.T, session, address string) tab {
	t.Helper()
	return tab{browser.Visit(t, address, session)}
}

// shows waits until the value of an expression contains the text.
func (b tab) shows(what, expression, want string) {
	b.T.Helper()
	await.Nil(b.T, what, func() error {
		if got := b.Eval(expression); !strings.Contains(got, want) {
			return fmt.Errorf("the page shows %q", got)
		}
		return nil
	})
}

const (
	pageResults = `[...document.querySelectorAll("#results li")].map((li) => li.dataset.user).join(",")`
	pageChosen  = `document.querySelector('#results li[aria-selected="true"]')?.dataset.user`
	pageMarks   = `[...document.querySelectorAll("#results mark")].map((m) => m.textContent).join("|")`
	pageState   = `document.getElementById("state").textContent`
	pageDetail  = `document.getElementById("detail").hidden ? "" : document.getElementById("detail").textContent`
)

// A receptionist must find a patient with the keyboard only, and no patient of another laboratory.
func TestTheSearchPageIsUsedByTheKeyboardAlone(t *testing.T) {
	const first, second, stranger = 940_301, 940_302, 940_303
	register(t, ownLab, first, "Quenby Ashgrove", "9811100301", "SPAGE-301/1")
	register(t, ownLab, second, "Quenby Ashgrovia", "9811100302", "SPAGE-302/1")
	register(t, otherLab, stranger, "Quenby Ashgrove", "9811100303", "SPAGE-303/1")
	cookie(t, ownLab, 77)
	user(t, ownLab, 1).sees(t, "quenby ashgrov", first, second)

	b := openTab(t, fmt.Sprintf("search-%d-77", ownLab), platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.Press(strings.Split("quenby ash", "")...)
	b.shows("both patients", pageResults, fmt.Sprintf("%d,%d", first, second))
	b.shows("how many", pageState, "2 found")
	if got := b.Eval(pageMarks); got != "Quenby|Ash|Quenby|Ash" {
		t.Errorf("marked: %s", got)
	}
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.shows("the second one chosen", pageChosen, fmt.Sprint(second))
	b.Pictures("search-found")
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.shows("the details", pageDetail, "9811100302")
	b.Pictures("search-detail")
	b.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape))
	b.shows("an empty box", `document.getElementById("box").value + "."`, ".")
	b.shows("no patient", pageResults+`+ "."`, ".")
	b.Press(strings.Split("quenbyashgrovia", "")...)
	b.shows("words typed together", pageResults, fmt.Sprint(second))
	if got := b.Eval(pageResults); strings.Contains(got, fmt.Sprint(stranger)) {
		t.Errorf("a patient of another laboratory: %s", got)
	}
}

// Before registering a patient, a user checks whether the patient exists. The page must show why each candidate is
// proposed.
func TestTheSearchPageTellsWhoIsHereAlready(t *testing.T) {
	const known = 940_311
	register(t, ownLab, known, "Yolanda Birchwood", "9811100311", "SPAGE-311/1")
	cookie(t, ownLab, 78)
	user(t, ownLab, 1).sees(t, "yolanda birchwood", known)

	b := openTab(t, fmt.Sprintf("search-%d-78", ownLab), platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.Press(strings.Split("yolanda elmwood 9811100311", "")...)
	b.shows("whom one word too many finds", pageState, "1 found")
	b.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.shows("the patient", pageResults, fmt.Sprint(known))
	b.shows("why", `document.getElementById("results").textContent`, "same telephone 9811100311")
	b.shows("what to do", pageState, "may be this patient")
	b.Screenshot("search-already.png")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Press(strings.Split("yolanda", "")...)
	b.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.shows("what is missing", pageState, "birth date")
}

func TestTheSearchPageAsksToLogIn(t *testing.T) {
	b := openTab(t, "stranger", platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.Press(strings.Split("rahul", "")...)
	b.shows("what to do", pageState, "Log in")
}

// A search must survive a reload, and Back from a patient must return to it. The typed text must never be part of the
// address.
func TestTheSearchPageKeepsItsSearch(t *testing.T) {
	const known = 940_321
	register(t, ownLab, known, "Ximena Larkspur", "9811100321", "SPAGE-321/1")
	cookie(t, ownLab, 79)
	user(t, ownLab, 1).sees(t, "ximena larkspur", known)

	b := openTab(t, fmt.Sprintf("search-%d-79", ownLab), platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.Press(strings.Split("ximena lark", "")...)
	b.shows("the patient", pageResults, fmt.Sprint(known))
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.shows("the details", pageDetail, "9811100321")
	b.shows("the address of the patient", "location.search", fmt.Sprintf("?user=%d", known))
	b.Eval("history.back()")
	b.shows("no patient is open", `document.getElementById("detail").hidden + location.search`, "true")
	b.shows("the search", `document.getElementById("box").value`, "ximena lark")
	b.Eval("location.reload()")
	b.shows("the search, after a reload", pageResults, fmt.Sprint(known))
	b.Eval("history.forward()")
	b.shows("the details again", pageDetail, "9811100321")
	if got := b.Eval("location.href"); strings.Contains(got, "ximena") {
		t.Errorf("the address is %s, which has what was typed", got)
	}
	if errors, foreign := b.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
}
