package demolab_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

// pace is the speed of the simulation: an hour takes a quarter of a minute.
const pace = 240

// TestADayOfTheLaboratoryGoesWithoutAFailure simulates two hours of the demo laboratory, in the long form six. Every
// request must succeed. A picture of the callout board is stored for each full hour.
func TestADayOfTheLaboratoryGoesWithoutAFailure(t *testing.T) {
	hours := 2
	if os.Getenv("LAB_LONG_TESTS") == "1" {
		hours = 6
	}
	p := demolab.Start(t)
	board := openBoard(t, p)
	ctx, end := context.WithTimeout(t.Context(), time.Duration(hours)*time.Hour/pace)
	defer end()
	played := make(chan error, 1)
	var got day.Tally
	go func() {
		var err error
		got, err = day.Run(ctx, day.Config{Endpoints: p.Endpoints, Pace: pace, Seed: 28, Out: t.Output(),
			Token: func() (string, error) { return p.InternalToken(ctx) }})
		played <- err
	}()
	hour := time.NewTicker(time.Hour / pace)
	defer hour.Stop()
	for n := 1; ; n++ {
		select {
		case <-hour.C:
			browser.Screenshot(board, t, fmt.Sprintf("day-%d.png", n))
			continue
		case err := <-played:
			t.Logf("%+v", got)
			if err != nil || got.Failed > 0 || got.Patients < 30 || got.Results < 20 || got.Critical == 0 || got.Split == 0 {
				t.Errorf("%+v %v", got, err)
			}
			return
		}
	}
}

// openBoard opens the callout board as a demo user who signs in on the first page.
func openBoard(t *testing.T, p demolab.Platform) context.Context {
	t.Helper()
	tab := browser.Open(t)
	const asha = `[...document.querySelectorAll(".people button")].find((b) => b.value === "Asha Ranade").click()`
	if err := chromedp.Do(tab, chromedp.Navigate(p.Endpoints.Gateway+"/?to="+url.QueryEscape("/callout/"))); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(tab, chromedp.Evaluate[any](asha)); err != nil {
		t.Fatal(err)
	}
	return tab
}
