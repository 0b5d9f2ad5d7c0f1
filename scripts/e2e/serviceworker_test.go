package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

const (
	workerPath   = notificationsPath + "service-worker/firebase-messaging-sw.js"
	registration = `navigator.serviceWorker.getRegistration("/")`
)

// resolved returns the value of a promise as text.
func resolved(ctx context.Context, t *testing.T, expression string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("("+expression+").then(String)", chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: got error %v, want none", expression, err)
	}
	return text
}

// pushing is a browser with the platform's service worker.
type pushing struct {
	page
	id     serviceworker.RegistrationID
	worker context.Context
}

// register allows notifications, registers the worker as the platform's pages do, and waits until it is active.
func register(t *testing.T, address string) *pushing {
	t.Helper()
	p := &pushing{page: openPage(t, address)}
	origin := stack.Endpoints.Gateway
	p.Do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := cdp.Call(ctx, chromedp.FromContext(ctx).Browser, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: "notifications"}, Setting: cdpbrowser.PermissionSettingGranted, Origin: origin})
		return err
	}))
	updates := chromedp.Events(p.Ctx, serviceworker.WorkerRegistrationUpdated)
	ids := make(chan serviceworker.RegistrationID, 1)
	go func() {
		for update, err := range updates {
			if err != nil {
				return
			}
			for _, r := range update.Registrations {
				if strings.HasPrefix(r.ScopeURL, origin) && !r.IsDeleted {
					select {
					case ids <- r.RegistrationID:
					default:
					}
				}
			}
		}
	}()
	p.Do(browser.Command(serviceworker.Enable, cdp.Empty{}))
	scope := resolved(p.Ctx, t, fmt.Sprintf(`navigator.serviceWorker.register(%q, {scope: "/"}).then(() => navigator.serviceWorker.ready).then((r) => r.scope)`, workerPath))
	if scope != origin+"/" {
		t.Fatalf("the worker's scope is %s", scope)
	}
	await.True(t, "the worker is active", func() bool { // earlier pushes are dropped
		return resolved(p.Ctx, t, registration+`.then((r) => r.active !== null && r.active.state === "activated")`) == "true"
	})
	select {
	case p.id = <-ids:
	case <-t.Context().Done():
		t.Fatal("the browser does not tell of the registration")
	}
	return p
}

// push delivers a message as a push service does.
func (p *pushing) push(message string) {
	p.T.Helper()
	p.Do(browser.Command(serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: stack.Endpoints.Gateway, RegistrationID: p.id, Data: message}))
}

type shown struct {
	Title, Body, Tag string
	Data             map[string]any
	Stays            bool
}

// all returns the visible notifications, and the title and body of each.
func (p *pushing) all() (list []shown, texts []string) {
	p.T.Helper()
	text := resolved(p.Ctx, p.T, registration+`.then((r) => r.getNotifications()).then((list) => JSON.stringify(list.map((n) => (
		{Title: n.title, Body: n.body, Tag: n.tag, Data: n.data, Stays: n.requireInteraction}))))`)
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		p.T.Fatal(err)
	}
	for _, n := range list {
		texts = append(texts, strings.TrimSpace(n.Title+" "+n.Body))
	}
	return list, texts
}

// want waits until exactly these notifications are visible, and returns them.
func (p *pushing) want(texts ...string) (list []shown) {
	p.T.Helper()
	await.Nil(p.T, "the notifications", func() error {
		var got []string
		if list, got = p.all(); !slices.Equal(got, texts) {
			return fmt.Errorf("the browser shows %q, want %q", got, texts)
		}
		return nil
	})
	return list
}

// shownIn is the maximum time until a push that the browser accepted is shown.
const shownIn = 15 * time.Second

// deliver pushes a message and waits until only its notification is shown. The browser sometimes drops a push without
// reporting it, so the push is repeated.
func (p *pushing) deliver(message, text string) (list []shown) {
	p.T.Helper()
	var pushed time.Time
	await.Nil(p.T, "the notification", func() error {
		if time.Since(pushed) > shownIn {
			p.push(message)
			pushed = time.Now()
		}
		var got []string
		if list, got = p.all(); !slices.Equal(got, []string{text}) {
			return fmt.Errorf("the browser shows %q, want %q", got, text)
		}
		return nil
	})
	return list
}

// attach opens a context of the worker itself.
func (p *pushing) attach() {
	p.T.Helper()
	await.Nil(p.T, "the worker", func() error {
		targets, err := chromedp.Targets(p.Ctx)
		if err != nil {
			return err
		}
		for _, one := range targets {
			if one.Type == "service_worker" && strings.HasSuffix(one.URL, workerPath) {
				ctx, cancel := chromedp.NewContext(p.Ctx, chromedp.WithTargetID(one.TargetID))
				p.T.Cleanup(cancel)
				p.worker = ctx
				_, err := chromedp.Run(ctx, chromedp.Evaluate[string](`"attached"`)) // attached as long as ctx lives
				return err
			}
		}
		return fmt.Errorf("%d targets, none is the worker", len(targets))
	})
}

// click triggers a click on the first notification and returns the page that the worker opens. A headless browser shows
// no notifications and opens windows for real clicks only, so the event is created by the script, and the opened
// address is only recorded.
func (p *pushing) click() string {
	p.T.Helper()
	return resolved(p.worker, p.T, `(async () => {
		let opened = "nothing";
		self.clients.openWindow = async (url) => { opened = url; };
		const [notification] = await self.registration.getNotifications();
		const done = [];
		const event = new NotificationEvent("notificationclick", {notification});
		event.waitUntil = (promise) => done.push(promise);
		self.dispatchEvent(event);
		await Promise.all(done);
		return opened;
	})()`)
}

// TestServiceWorkerShowsPushesAndOpensTheirPage runs the platform's worker in a browser: it registers, shows pushes
// including malformed and hostile ones, and a click opens the notification's page on this origin.
func TestServiceWorkerShowsPushesAndOpensTheirPage(t *testing.T) {
	p := register(t, stack.Endpoints.Gateway+"/")
	list := p.deliver(`{"notification":{"title":"Critical report","body":"A report has a critical result. Open it now."},
		"data":{"notification_id":"41","notification_type_id":"2","lrr_id":"7001"}}`, "Critical report A report has a critical result. Open it now.")
	if n := list[0]; n.Tag != "notification-41" || !n.Stays || n.Data["lrr_id"] != "7001" {
		t.Errorf("%+v", n)
	}
	p.deliver(`{"notification":{"title":"Critical report","body":"once more"},"data":{"notification_id":"41","notification_type_id":"2"}}`,
		"Critical report once more") // replaces the first notification
	p.attach()
	if got, want := p.click(), stack.Endpoints.Gateway+"/callout/?notification_id=41"; got != want {
		t.Errorf("a click on a critical report opens %s, want %s", got, want)
	}
	p.want() // the click has closed it
	for name, c := range map[string]struct{ message, title, opens string }{
		"another type":          {`{"title":"Report ready","data":{"notification_id":"7","notification_type_id":"1"}}`, "Report ready", "/notifications/?notification_id=7"},
		"of an organisation":    {`{"title":"Critical report","data":{"notification_id":"9","notification_type_id":"2","for":"org"}}`, "Critical report", "/notifications/?notification_id=9"},
		"a page of its own":     {`{"title":"T","data":{"click_action":"/cell-counter/?test=1"}}`, "T", "/cell-counter/?test=1"},
		"a page elsewhere":      {`{"title":"T","data":{"click_action":"https://evil.test/x","notification_id":"8"}}`, "T", "/notifications/?notification_id=8"},
		"a script":              {`{"title":"<img src=x onerror=alert(1)>","data":{"click_action":"javascript:alert(1)"}}`, "<img src=x onerror=alert(1)>", "/notifications/"},
		"a text and no message": {`hello`, "New notification", "/notifications/"},
	} {
		p.deliver(c.message, c.title)
		if got := p.click(); got != stack.Endpoints.Gateway+c.opens {
			t.Errorf("%s: a click opens %s, want %s", name, got, c.opens)
		}
		p.want()
	}
}
