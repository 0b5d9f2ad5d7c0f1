package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// page is one tab and what went wrong in it.
type page struct {
	t       *testing.T
	ctx     context.Context
	mu      sync.Mutex // guards below
	errors  []string
	foreign []string
}

// openPage starts a browser with an empty profile on address.
func openPage(t *testing.T, address string) *page {
	t.Helper()
	ctx := browser.Open(t)
	p := &page{t: t, ctx: ctx}
	own, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, protocol(network.Enable, network.EnableParams{})); err != nil { // the browser lives as long as this context
		t.Fatal(err)
	}
	requests, console := chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Console(ctx)
	go func() {
		for event, err := range requests {
			if err == nil {
				p.request(event.Request.URL, own.Host)
			}
		}
	}()
	go func() {
		for message, err := range console {
			if err == nil && (message.Type == chromedp.ConsoleError || message.IsException()) {
				p.mu.Lock()
				p.errors = append(p.errors, message.String())
				p.mu.Unlock()
			}
		}
	}()
	p.do(chromedp.Navigate(address))
	return p
}

func (p *page) request(address, own string) {
	if u, err := url.Parse(address); err == nil && (u.Host == own || u.Scheme == "data" || u.Scheme == "about") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foreign = append(p.foreign, address)
}

// clean reports what went wrong until now and forgets it.
func (p *page) clean() (errors, foreign []string) {
	p.eval("1") // what came before was noted
	p.mu.Lock()
	defer p.mu.Unlock()
	errors, foreign = p.errors, p.foreign
	p.errors, p.foreign = nil, nil
	return errors, foreign
}

// protocol is a step that sends one command of the protocol.
func protocol[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

const stepTimeout = time.Minute

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// fill types into a field the way a user does: its events fire.
func (p *page) fill(id, event, value string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event(%q)); })()`, id, value, event))
}

// eval returns the text of a JavaScript expression.
func (p *page) eval(expression string) string {
	p.t.Helper()
	text, err := p.read(expression)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// read is eval for a page that may be on its way to another: nothing can be read at that moment.
func (p *page) read(expression string) (string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, stepTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		return "", fmt.Errorf("%s: %w", expression, err)
	}
	return text, nil
}

func (p *page) awaitTrue(what, expression string) {
	p.t.Helper()
	await.Nil(p.t, what, func() error {
		held, err := p.read(expression)
		if held == "true" || err != nil {
			return err
		}
		shown, err := p.read("document.body?.innerText.slice(0, 600)")
		return cmp.Or(err, fmt.Errorf("the page says %s", shown))
	})
}

const items = `document.querySelectorAll("#list li")`

// pick shows only one channel and waits until the list agrees.
func (p *page) pick(channel string, atLeast int) {
	p.t.Helper()
	p.fill("channel", "change", channel)
	p.awaitTrue("the messages of "+channel, fmt.Sprintf(`%s.length >= %d && [...%s].every((li) => li.querySelector("strong").textContent === %q)`, items, atLeast, items, channel))
}

func (p *page) wantDetail(texts ...string) {
	p.t.Helper()
	got := p.eval(`document.getElementById("detail").textContent`)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			p.t.Errorf("the message does not show %q:\n%s", want, got)
		}
	}
}

func (p *page) screenshot(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepTimeout)
	defer cancel()
	browser.Screenshot(ctx, p.t, name)
}

// scheme emulates the user's preference and returns the page's background and text colour.
func (p *page) scheme(name string) (background, text string) {
	p.t.Helper()
	p.do(protocol(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}))
	p.awaitTrue("the "+name+" scheme", fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches`, name))
	return p.eval("getComputedStyle(document.body).backgroundColor"), p.eval("getComputedStyle(document.body).color")
}

// fillOutbox enqueues two text messages, an e-mail with markup that must not run, and a webhook; it returns once
// all of them are shown.
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
		t.Fatalf("%d %s", got.status, got.body)
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
	if got := callAt(t, address, "", "DELETE", "messages", ""); got.status != http.StatusNoContent { // of an earlier run
		t.Fatalf("clear: %d %s", got.status, got.body)
	}
	fillOutbox(t)
	p := openPage(t, address)
	p.awaitTrue("the list", items+".length >= 4")
	if title := p.eval("document.title"); title != "Outbox" {
		t.Errorf("title %q", title)
	}

	p.pick("sms", 2)
	p.fill("to", "input", "9812300001")
	p.awaitTrue("one message to the number", items+".length === 1")
	p.do(chromedp.Click(chromedp.CSS("#list li")))
	p.wantDetail("First message, ₹ 500", "+919812300001", "UCS-2")
	p.lateAnswer()
	p.fill("to", "input", "")
	p.pick("sms", 2)

	p.keyboard()
	p.email()
	p.pick("webhook", 1)
	p.fill("to", "input", "127.0.0.1")
	p.awaitTrue("a webhook", items+`.length >= 1 && document.getElementById("detail").textContent.includes("outbox-page")`)
	p.wantDetail("Signature", "v1,", "Webhook-Id: ", "X-Demo: page", "curl ", `"hello"`)

	light, dark := p.colours()
	if light == dark {
		t.Errorf("light and dark look the same: %s", light)
	}
	if errors, foreign := p.clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests to other hosts %q", errors, foreign)
	}
	p.lockedIn()
}

// lockedIn shows an e-mail whose markup wants to run and to call home.
func (p *page) lockedIn() {
	p.t.Helper()
	var calls atomic.Int64
	home := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	p.t.Cleanup(home.Close)
	body, err := json.Marshal(fmt.Sprintf(`<h1>Hostile</h1><img src=%q><script>top.document.title="run";fetch(%q)</script>`, home.URL+"/pixel.png", home.URL))
	if err != nil {
		p.t.Fatal(err)
	}
	got := call(p.t, labSession, "POST", "/queue/", `[{"task":2,"task_type":1,"data":{"to":["hostile@example.org"],"subject":"Hostile","message":`+string(body)+`}}]`)
	if got.status != 200 {
		p.t.Fatalf("%d %s", got.status, got.body)
	}
	p.fill("channel", "change", "email")
	p.fill("to", "input", "hostile@example.org")
	p.awaitTrue("the hostile e-mail", `document.getElementById("detail").textContent.includes("hostile@example.org") && document.querySelector("#detail iframe") !== null`)
	p.awaitTrue("the frame's end of loading", `performance.now() > 0 && document.querySelector("#detail iframe").srcdoc.includes("Hostile")`)
	if title := p.eval("document.title"); title != "Outbox" || calls.Load() != 0 {
		p.t.Errorf("title %q, %d calls home", title, calls.Load())
	}
	errors, _ := p.clean()
	for _, text := range errors {
		if !strings.Contains(text, "Content Security Policy") && !strings.Contains(text, "sandboxed") {
			p.t.Errorf("error %q", text)
		}
	}
}

// lateAnswer checks that the answer to an earlier filter, which comes after the later one's, changes nothing.
func (p *page) lateAnswer() {
	p.t.Helper()
	p.eval(`(() => {
		const timely = window.fetch;
		window.answered = 0;
		window.fetch = async (...request) => {
			const answer = await timely(...request);
			if (!String(request[0]).includes("nobody")) {
				window.answered++;
				return answer;
			}
			await new Promise((release) => { window.release = release; });
			setTimeout(() => { window.read = true; }, 100);
			return answer;
		};
	})()`)
	p.fill("to", "input", "nobody")
	p.awaitTrue("an answer that is held back", `window.release !== undefined`)
	p.eval(`window.answered = 0`)
	p.fill("to", "input", "9812300001")
	p.awaitTrue("the later answer", `window.answered > 0`)
	p.eval(`window.release()`)
	p.awaitTrue("the end of the earlier one", `window.read === true`)
	if got := p.eval(items + ".length"); got != "1" {
		p.t.Errorf("an answer that came late shows %s messages", got)
	}
}

// keyboard walks the list of two or more messages without a mouse.
func (p *page) keyboard() {
	p.t.Helper()
	current := `[...` + items + `].findIndex((li) => li.getAttribute("aria-selected") === "true")`
	last := p.eval(items + ".length - 1")
	p.do(chromedp.Focus(chromedp.CSS("#list")))
	for _, step := range []struct{ key, want string }{{kb.End, last}, {kb.Home, "0"}, {kb.ArrowDown, "1"}, {kb.ArrowUp, "0"}, {kb.ArrowUp, "0"}} {
		p.do(chromedp.KeyEvent(step.key))
		if got := p.eval(current); got != step.want {
			p.t.Errorf("after %q message %s is selected, want %s", step.key, got, step.want)
		}
	}
	if active := p.eval(`document.getElementById(document.getElementById("list").getAttribute("aria-activedescendant")).getAttribute("aria-selected")`); active != "true" {
		p.t.Errorf("a screen reader is not told what is selected")
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	if got := p.eval("document.activeElement.id"); got != "detail" {
		p.t.Errorf("Enter moves to %q, want the message", got)
	}
}

// email checks that the markup of a message is shown and cannot do anything.
func (p *page) email() {
	p.t.Helper()
	p.fill("to", "input", "outboxpage@example.org")
	p.pick("email", 1)
	p.awaitTrue("the e-mail", `document.querySelector("#detail iframe") !== null`)
	defer p.fill("to", "input", "")
	p.wantDetail("Your <b>report</b>", "outboxpage@example.org")
	if got := p.eval(`document.querySelector("#detail iframe").getAttribute("sandbox") === "" && document.title === "Outbox"`); got != "true" {
		p.t.Error("the e-mail's markup is not locked in")
	}
	if got := p.eval(`document.querySelector("#detail iframe").srcdoc.includes("<h1>Ready</h1>")`); got != "true" {
		p.t.Error("the e-mail's markup is not shown")
	}
}

// colours checks that text can be read in both schemes and takes their pictures.
func (p *page) colours() (light, dark string) {
	p.t.Helper()
	for _, s := range []struct {
		name string
		into *string
	}{{"light", &light}, {"dark", &dark}} {
		background, text := p.scheme(s.name)
		if background == text || background == "" {
			p.t.Errorf("%s: text %s on %s", s.name, text, background)
		}
		*s.into = background
	}
	p.pictures("outbox")
	return light, dark
}
