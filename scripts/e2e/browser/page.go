package browser

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

const stepTimeout = time.Minute

// Page is a tab, and the errors that occurred in it. A failing step ends the test.
type Page struct {
	T   *testing.T
	Ctx context.Context // context of the tab

	mu      sync.Mutex // guards the fields below
	errors  []string
	foreign []string
}

// Visit starts a browser with an empty profile, and with the session unless it is empty, and opens the address.
func Visit(t *testing.T, address, session string) *Page {
	t.Helper()
	p := &Page{T: t, Ctx: Open(t)}
	own, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	// Not by p.Do: the browser runs as long as the context of its first step.
	if err := chromedp.Do(p.Ctx, Command(network.Enable, network.EnableParams{})); err != nil {
		t.Fatal(err)
	}
	requests, console := chromedp.Events(p.Ctx, network.RequestWillBeSent), chromedp.Console(p.Ctx)
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
	if session != "" {
		p.Do(Command(network.SetCookie, network.SetCookieParams{Name: "sessionid", Value: session, URL: address}))
	}
	p.Do(chromedp.Navigate(address))
	return p
}

func (p *Page) request(address, own string) {
	if u, err := url.Parse(address); err == nil && (u.Host == own || u.Scheme == "data" || u.Scheme == "about") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foreign = append(p.foreign, address)
}

// Clean returns the errors so far and the requests to other hosts, and clears both lists.
func (p *Page) Clean() (errors, foreign []string) {
	p.Eval("1") // all earlier events have been recorded when it returns
	p.mu.Lock()
	defer p.mu.Unlock()
	errors, foreign = p.errors, p.foreign
	p.errors, p.foreign = nil, nil
	return errors, foreign
}

// Command returns a step that sends one command of the browser's protocol.
func Command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// Do executes the steps in order.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, stepTimeout)
	defer cancel()
	must(p.T, chromedp.Do(ctx, steps...))
}

// Press presses the keys in order.
func (p *Page) Press(keys ...string) {
	p.T.Helper()
	for _, key := range keys {
		p.Do(chromedp.KeyEvent(key))
	}
}

// HoldEnter presses Enter, waits until opens is true, and holds the key down until it has been repeated twice. After
// each repeat opens must still be true.
func (p *Page) HoldEnter(opens string) {
	p.T.Helper()
	key := input.DispatchKeyEventParams{Key: "Enter", Code: "Enter", Text: "\r", UnmodifiedText: "\r", NativeVirtualKeyCode: 13, WindowsVirtualKeyCode: 13}
	send := func(kind input.DispatchKeyEventType) {
		p.T.Helper()
		key.Type = kind
		p.Do(Command(input.DispatchKeyEvent, key))
	}
	send(input.DispatchKeyEventTypeKeyDown) // with a text, the browser sends keypress too
	p.Await("what Enter opens", opens)
	key.AutoRepeat = new(true)
	for range 2 {
		send(input.DispatchKeyEventTypeKeyDown)
		if p.Eval(opens) != "true" {
			p.T.Fatalf("a repeat of a held Enter key acted on what it opened: %s", opens)
		}
	}
	send(input.DispatchKeyEventTypeKeyUp)
}

// Click clicks where the middle of an element is now. It returns a function that makes the second click of a double
// click, at the same place.
func (p *Page) Click(element string) (again func()) {
	p.T.Helper()
	var x, y float64
	place := p.Eval(`((r) => [r.x + r.width / 2, r.y + r.height / 2].join(" "))((` + element + `).getBoundingClientRect())`)
	if _, err := fmt.Sscan(place, &x, &y); err != nil {
		p.T.Fatalf("place of %s: %s: %v", element, place, err)
	}
	click := func(count int64) {
		p.T.Helper()
		params := input.DispatchMouseEventParams{X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: count}
		for _, params.Type = range []input.DispatchMouseEventType{
			input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased,
		} {
			p.Do(Command(input.DispatchMouseEvent, params))
		}
	}
	click(1)
	return func() { click(2) }
}

// Fill sets the value of the field with the id and dispatches the event, as typing would.
func (p *Page) Fill(id, event, value string) {
	p.T.Helper()
	p.Eval(fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event(%q, {bubbles: true})); })()`,
		id, value, event))
}

// Eval returns the value of a JavaScript expression as text.
func (p *Page) Eval(expression string) string {
	p.T.Helper()
	text, err := p.read(expression)
	must(p.T, err)
	return text
}

// read is like Eval, but returns an error while the page is loading another one.
func (p *Page) read(expression string) (string, error) {
	ctx, cancel := context.WithTimeout(p.Ctx, stepTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		return "", fmt.Errorf("%s: %w", expression, err)
	}
	return text, nil
}

// Await waits until an expression is true.
func (p *Page) Await(what, expression string) {
	p.T.Helper()
	await.Nil(p.T, what, func() error {
		held, err := p.read(expression)
		if held == "true" || err != nil {
			return err
		}
		shown, err := p.read("document.body?.innerText.slice(0, 600)")
		return cmp.Or(err, fmt.Errorf("the page says %s", shown))
	})
}

// Screenshot stores a picture of the whole page.
func (p *Page) Screenshot(name string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, stepTimeout)
	defer cancel()
	Screenshot(ctx, p.T, name)
}
