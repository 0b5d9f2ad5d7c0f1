package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// page is a browser tab with helpers for the tests of pages.
type page struct{ *browser.Page }

// openPage opens address in a browser with an empty profile.
func openPage(t *testing.T, address string) page {
	t.Helper()
	return page{browser.Visit(t, address, "")}
}

const items = `document.querySelectorAll("#list li")`

// pick filters by one channel and waits until the list shows only messages of it, at least this many.
func (p page) pick(channel string, atLeast int) {
	p.T.Helper()
	p.Fill("channel", "change", channel)
	p.Await("the messages of "+channel, fmt.Sprintf(`%s.length >= %d && [...%s].every((li) => li.querySelector("strong").textContent === %q)`, items, atLeast, items, channel))
}

func (p page) wantDetail(texts ...string) {
	p.T.Helper()
	got := p.Eval(`document.getElementById("detail").textContent`)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			p.T.Errorf("the message does not show %q:\n%s", want, got)
		}
	}
}

// scheme emulates a preferred colour scheme and returns the page's background and text colours.
func (p page) scheme(name string) (background, text string) {
	p.T.Helper()
	p.Do(browser.Command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}))
	p.Await("the "+name+" scheme", fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, name))
	return p.Eval("getComputedStyle(document.body).backgroundColor"), p.Eval("getComputedStyle(document.body).color")
}

// fillOutbox enqueues two text messages, an e-mail with markup that must not run, and a webhook. It returns once the
// page has all of them.
func fillOutbox(t *testing.T) {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(receiver.Close)
	got := call(t, labSession, "POST", "/queue/", `[
		{"task":1,"task_type":3,"data":{"contact":9812300001,"countryCode":91,"message":"First message, ₹ 500"}},
		{"task":1,"task_type":3,"data":{"contact":9812300002,"countryCode":91,"message":"Second message"}},
		{"task":2,"task_type":1,"data":{"to":["outboxpage@example.org"],"subject":"Your <b>report</b>","message":"<h1>Ready</h1>"}},
		{"task":4,"task_type":2,"headers":{"X-Demo":"page"},"data":{"url":`+strconv.Quote(receiver.URL+"/outbox-page")+`,"args":{"hello":"world"},"isBody":1}}]`)
	if got.status != 200 {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	await.Nil(t, "four messages in the outbox", func() error {
		list := callAt(t, strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/"), "", "GET", "/messages", "")
		for _, text := range []string{"First message", "Second message", "outboxpage@example.org", "/outbox-page"} {
			if !strings.Contains(list.body, text) {
				return fmt.Errorf("no %s", text)
			}
		}
		return nil
	})
}

func TestTheOutboxPageInABrowser(t *testing.T) {
	address := strings.TrimSuffix(stack.Endpoints.TaskqueueOutbox, "/") + "/"
	if got := callAt(t, address, "", "DELETE", "messages", ""); got.status != http.StatusNoContent { // clears an earlier run
		t.Fatalf("clear: %d %s", got.status, got.body)
	}
	fillOutbox(t)
	p := openPage(t, address)
	p.Await("the list", items+".length >= 4")
	if title := p.Eval("document.title"); title != "Outbox" {
		t.Errorf("title %q", title)
	}

	p.pick("sms", 2)
	p.Fill("to", "input", "9812300001")
	p.Await("one message to the number", items+".length === 1")
	p.Do(chromedp.Click(chromedp.CSS("#list li")))
	p.wantDetail("First message, ₹ 500", "+919812300001", "UCS-2")
	p.lateAnswer()
	p.Fill("to", "input", "")
	p.pick("sms", 2)

	p.keyboard()
	p.email()
	p.pick("webhook", 1)
	p.Fill("to", "input", "127.0.0.1")
	p.Await("a webhook", items+`.length >= 1 && document.getElementById("detail").textContent.includes("outbox-page")`)
	p.wantDetail("Signature", "v1,", "Webhook-Id: ", "X-Demo: page", "curl ", `"hello"`)

	light, dark := p.colours()
	if light == dark {
		t.Errorf("light and dark look the same: %s", light)
	}
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
	p.lockedIn()
}

// lockedIn opens an e-mail whose markup tries to run a script and to load an image from another host.
func (p page) lockedIn() {
	p.T.Helper()
	var calls atomic.Int64
	home := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	p.T.Cleanup(home.Close)
	body, err := json.Marshal(fmt.Sprintf(`<h1>Hostile</h1><img src=%q><script>top.document.title="run";fetch(%q)</script>`, home.URL+"/pixel.png", home.URL))
	if err != nil {
		p.T.Fatal(err)
	}
	got := call(p.T, labSession, "POST", "/queue/", `[{"task":2,"task_type":1,"data":{"to":["hostile@example.org"],"subject":"Hostile","message":`+string(body)+`}}]`)
	if got.status != 200 {
		p.T.Fatalf("%d %s", got.status, got.body)
	}
	p.Fill("channel", "change", "email")
	p.Fill("to", "input", "hostile@example.org")
	p.Await("the hostile e-mail", `document.getElementById("detail").textContent.includes("hostile@example.org") && document.querySelector("#detail iframe") !== null`)
	p.Await("the frame's end of loading", `performance.now() > 0 && document.querySelector("#detail iframe").srcdoc.includes("Hostile")`)
	if title := p.Eval("document.title"); title != "Outbox" || calls.Load() != 0 {
		p.T.Errorf("title %q, %d calls home", title, calls.Load())
	}
	errors, _ := p.Clean()
	for _, text := range errors {
		if !strings.Contains(text, "Content Security Policy") && !strings.Contains(text, "sandboxed") {
			p.T.Errorf("error %q", text)
		}
	}
}

// lateAnswer checks that the response for an earlier filter has no effect when it arrives after the response for the
// current filter.
func (p page) lateAnswer() {
	p.T.Helper()
	p.Eval(`(() => {
		const timely = window.fetch;
		window.answered = 0;
		window.fetch = async (...request) => {
			const answer = await timely(...request);
			if (!String(request[0]).includes("stranger")) {
				window.answered++;
				return answer;
			}
			await new Promise((release) => { window.release = release; });
			setTimeout(() => { window.read = true; }, 100);
			return answer;
		};
	})()`)
	p.Fill("to", "input", "stranger")
	p.Await("an answer that is held back", `window.release !== undefined`)
	p.Eval(`window.answered = 0`)
	p.Fill("to", "input", "9812300001")
	p.Await("the later answer", `window.answered > 0`)
	p.Eval(`window.release()`)
	p.Await("the end of the earlier one", `window.read === true`)
	if got := p.Eval(items + ".length"); got != "1" {
		p.T.Errorf("an answer that came late shows %s messages", got)
	}
}

// keyboard selects messages in a list of at least two with the keyboard.
func (p page) keyboard() {
	p.T.Helper()
	current := `[...` + items + `].findIndex((li) => li.getAttribute("aria-selected") === "true")`
	last := p.Eval(items + ".length - 1")
	p.Do(chromedp.Focus(chromedp.CSS("#list")))
	for _, step := range []struct{ key, want string }{{kb.End, last}, {kb.Home, "0"}, {kb.ArrowDown, "1"}, {kb.ArrowUp, "0"}, {kb.ArrowUp, "0"}} {
		p.Do(chromedp.KeyEvent(step.key))
		if got := p.Eval(current); got != step.want {
			p.T.Errorf("after %q message %s is selected, want %s", step.key, got, step.want)
		}
	}
	if active := p.Eval(`document.getElementById(document.getElementById("list").getAttribute("aria-activedescendant")).getAttribute("aria-selected")`); active != "true" {
		p.T.Errorf("a screen reader is not told what is selected")
	}
	p.Do(chromedp.KeyEvent(kb.Enter))
	if got := p.Eval("document.activeElement.id"); got != "detail" {
		p.T.Errorf("Enter moves to %q, want the message", got)
	}
}

// email checks that the markup of an e-mail is shown in a sandbox.
func (p page) email() {
	p.T.Helper()
	p.Fill("to", "input", "outboxpage@example.org")
	p.pick("email", 1)
	p.Await("the e-mail", `document.querySelector("#detail iframe") !== null`)
	defer p.Fill("to", "input", "")
	p.wantDetail("Your <b>report</b>", "outboxpage@example.org")
	if got := p.Eval(`document.querySelector("#detail iframe").getAttribute("sandbox") === "" && document.title === "Outbox"`); got != "true" {
		p.T.Error("the e-mail's markup is not locked in")
	}
	if got := p.Eval(`document.querySelector("#detail iframe").srcdoc.includes("<h1>Ready</h1>")`); got != "true" {
		p.T.Error("the e-mail's markup is not shown")
	}
}

// colours checks that text is readable in both colour schemes and takes pictures.
func (p page) colours() (light, dark string) {
	p.T.Helper()
	for _, s := range []struct {
		name string
		into *string
	}{{"light", &light}, {"dark", &dark}} {
		background, text := p.scheme(s.name)
		if background == text || background == "" {
			p.T.Errorf("%s: text %s on %s", s.name, text, background)
		}
		*s.into = background
	}
	p.Pictures("outbox")
	return light, dark
}
