package capture

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

const stepTimeout = time.Minute

// tab is a browser on the page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func openTab(t *testing.T, session, address string) tab {
	t.Helper()
	ctx := browser.Open(t)
	b := tab{t, ctx}
	if err := chromedp.Do(ctx, command(network.Enable, network.EnableParams{})); err != nil { // the browser lives as long as this context
		t.Fatal(err)
	}
	b.do(command(network.SetCookie, network.SetCookieParams{Name: "sessionid", Value: session, URL: platform.Endpoints.Gateway}), chromedp.Navigate(address))
	return b
}

// command is a step that sends one command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b tab) press(keys string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(string(key)))
	}
}

func (b tab) text(expression string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

func (b tab) screenshot(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	browser.Screenshot(ctx, b.t, name)
}

// shows waits until an expression has the text in it.
func (b tab) shows(what, expression, want string) {
	b.t.Helper()
	await.Nil(b.t, what, func() error {
		if got := b.text(expression); !strings.Contains(got, want) {
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

// A receptionist finds a patient without touching the mouse, and nobody of another laboratory.
func TestTheSearchPageIsUsedByTheKeyboardAlone(t *testing.T) {
	const first, second, stranger = 940_301, 940_302, 940_303
	register(t, ownLab, first, "Quenby Ashgrove", "9811100301", "SPAGE-301/1")
	register(t, ownLab, second, "Quenby Ashgrovia", "9811100302", "SPAGE-302/1")
	register(t, otherLab, stranger, "Quenby Ashgrove", "9811100303", "SPAGE-303/1")
	cookie(t, ownLab, 77)
	user(t, ownLab, 1).sees(t, "quenby ashgrov", first, second)

	b := openTab(t, fmt.Sprintf("search-%d-77", ownLab), platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.press("quenby ash")
	b.shows("both patients", pageResults, fmt.Sprintf("%d,%d", first, second))
	b.shows("how many", pageState, "2 found")
	if got := b.text(pageMarks); got != "Quenby|Ash|Quenby|Ash" {
		t.Errorf("marked: %s", got)
	}
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.shows("the second one chosen", pageChosen, fmt.Sprint(second))
	browser.Pictures(b.ctx, t, "search-found")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.shows("the details", pageDetail, "9811100302")
	browser.Pictures(b.ctx, t, "search-detail")
	b.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape))
	b.shows("an empty box", `document.getElementById("box").value + "."`, ".")
	b.shows("no patient", pageResults+`+ "."`, ".")
	b.press("quenbyashgrovia")
	b.shows("words typed together", pageResults, fmt.Sprint(second))
	if got := b.text(pageResults); strings.Contains(got, fmt.Sprint(stranger)) {
		t.Errorf("a patient of another laboratory: %s", got)
	}
}

// Whoever is about to register somebody asks whether the patient is there already, and sees why each is proposed.
func TestTheSearchPageTellsWhoIsHereAlready(t *testing.T) {
	const known = 940_311
	register(t, ownLab, known, "Yolanda Birchwood", "9811100311", "SPAGE-311/1")
	cookie(t, ownLab, 78)
	user(t, ownLab, 1).sees(t, "yolanda birchwood", known)

	b := openTab(t, fmt.Sprintf("search-%d-78", ownLab), platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.press("yolanda elmwood 9811100311")
	b.shows("whom one word too many finds", pageState, "1 found")
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.shows("the patient", pageResults, fmt.Sprint(known))
	b.shows("why", `document.getElementById("results").textContent`, "same telephone 9811100311")
	b.shows("what to do", pageState, "may be this patient")
	b.screenshot("search-already.png")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.press("yolanda")
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.shows("what is missing", pageState, "birth date")
}

func TestTheSearchPageAsksToLogIn(t *testing.T) {
	b := openTab(t, "nobody", platform.Endpoints.Gateway+"/search/")
	b.shows("the box has the focus", "document.activeElement.id", "box")
	b.press("rahul")
	b.shows("what to do", pageState, "Log in")
}
