package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// screens are the sizes at which pages must work: a laptop, a tablet, a laptop at 200 %, a phone. Accessibility is
// checked on the widest and the narrowest: the others have the same colours and the layout of one of them.
var screens = []struct {
	name   string
	width  int64
	factor float64
	judged bool
}{{"1366", 1366, 1, true}, {"768", 768, 1, false}, {"683x2", 683, 2, false}, {"360", 360, 1, true}}

// Pictures stores pictures of the page on a laptop and a phone, in light and dark colours. Each must pass axe-core, and
// the page must fit into the window on every screen. Afterwards the window is a laptop's, in light colours.
func (p *Page) Pictures(name string) {
	t := p.T
	t.Helper()
	for i := range screens {
		p.pictures(name, i)
	}
	ctx, cancel := context.WithTimeout(p.Ctx, stepTimeout)
	defer cancel()
	resize(ctx, t, screens[0].width, 1)
	setScheme(ctx, t, "light")
}

// pictures is Pictures for one screen.
func (p *Page) pictures(name string, at int) {
	t, screen := p.T, screens[at]
	t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, stepTimeout)
	defer cancel()
	resize(ctx, t, screen.width, screen.factor)
	for _, scheme := range []string{"light", "dark"} {
		if !screen.judged {
			continue
		}
		setScheme(ctx, t, scheme)
		judge(ctx, t, fmt.Sprintf("%s, %s, %s wide", name, scheme, screen.name))
		Screenshot(ctx, t, fmt.Sprintf("%s-%s-%s.png", name, scheme, screen.name))
	}
	wide, err := chromedp.Run(ctx, chromedp.Evaluate[string](tooWide))
	must(t, err)
	if wide != "" {
		t.Errorf("%s: sideways on %s: %s", name, screen.name, wide)
	}
}

// Film stores pictures of the window: light and dark on a laptop, light on a tablet and at 200 %.
func (p *Page) Film(ctx context.Context, path string) {
	t := p.T
	t.Helper()
	for _, screen := range screens[:3] {
		resize(ctx, t, screen.width, screen.factor)
		for _, scheme := range []string{"light", "dark"} {
			if scheme == "dark" && !screen.judged {
				continue
			}
			setScheme(ctx, t, scheme)
			keep(ctx, t, fmt.Sprintf("%s-%s-%s.png", path, screen.name, scheme))
		}
	}
	resize(ctx, t, screens[0].width, 1)
	setScheme(ctx, t, "light")
}

// tooWide lists what exceeds the window's width: the page, a dialog, and fields and buttons, except in a part that
// scrolls.
const tooWide = `(() => {
	const scrolls = (e) => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
	const page = document.documentElement;
	const wide = [page, ...document.querySelectorAll("dialog[open]")].filter((e) => e.scrollWidth > e.clientWidth);
	const controls = [...document.querySelectorAll("input, select, textarea, button")].filter((e) => e.checkVisibility() &&
		!scrolls(e.parentElement) && e.getBoundingClientRect().right > page.clientWidth + 1);
	return [...wide, ...controls].map((e) => e.outerHTML.slice(0, 80)).join(" ");
})()`

func resize(ctx context.Context, t *testing.T, width int64, factor float64) {
	t.Helper()
	size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 768, DeviceScaleFactor: factor}
	must(t, chromedp.Do(ctx, Command(emulation.SetDeviceMetricsOverride, size)))
}

func setScheme(ctx context.Context, t *testing.T, scheme string) {
	t.Helper()
	feature := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{feature}}
	must(t, chromedp.Do(ctx, Command(emulation.SetEmulatedMedia, media)))
}

// judge fails the test for the findings of axe-core on the current page.
func judge(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	const violations = `axe.run().then((r) => JSON.stringify(r.violations.map((v) =>
		[v.id, v.nodes.map((n) => n.html.slice(0, 120))])))`
	loaded, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("window.axe !== undefined"))
	must(t, err)
	if !loaded {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[string](Axe(t)+`;"loaded"`))
		must(t, err)
	}
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](violations, chromedp.EvalAwaitPromise))
	must(t, err)
	var list []any
	if err := json.Unmarshal([]byte(found), &list); err != nil || len(list) > 0 {
		t.Errorf("%s: %v %s", name, err, found)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
