package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Pictures keeps the page as it is, light and dark, wide and narrow. Each must be accessible, as axe-core judges it,
// and no wider than its window.
func (p *Page) Pictures(name string) {
	t := p.T
	t.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, stepTimeout)
	defer cancel()
	for _, width := range []int64{1400, 390} {
		size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1}
		must(t, chromedp.Do(ctx, Command(emulation.SetDeviceMetricsOverride, size)))
		for _, scheme := range []string{"light", "dark"} {
			feature := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{feature}}
			must(t, chromedp.Do(ctx, Command(emulation.SetEmulatedMedia, media)))
			judge(ctx, t, fmt.Sprintf("%s, %s, %d wide", name, scheme, width))
			Screenshot(ctx, t, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
		must(t, err)
		if wide > width {
			t.Errorf("%s is %d wide on %d", name, wide, width)
		}
	}
}

// judge fails for what axe-core finds wrong on the page as it is.
func judge(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	const violations = `axe.run().then((r) => JSON.stringify(r.violations.map((v) =>
		[v.id, v.nodes.map((n) => n.html.slice(0, 120))])))`
	_, err := chromedp.Run(ctx, chromedp.Evaluate[string](Axe(t)+`;"loaded"`))
	must(t, err)
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
