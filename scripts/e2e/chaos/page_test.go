package main

import (
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/e2e/page"
)

func TestAPageOfFaultsHasWhatCallersGot(t *testing.T) {
	t.Parallel()
	f := figures{Broken: refused(map[int]int{503: 2, 0: 1}), Quiet: refused(nil), Classes: []classFigures{{Name: "cut", Times: 3}},
		Kinds: []kind{{Says: "a webhook was received", Promised: 4}}}
	f.Memory = f.Memory.most("cdc", 8<<20, 9<<20).most("gateway", 1<<20, 5<<20).most("search", 7<<20, 6<<20)
	text, err := page.Text("chaos", pageText, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no answer 1×, 503 2×", "nothing refused", "| cut |", "| a webhook was received |",
		"memory of gateway, 1 → 5 MiB"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

func TestAPageOfASoakShowsWhatRose(t *testing.T) {
	t.Parallel()
	r := brokenRun(t)
	first := time.Unix(1000, 0)
	r.soak = soak{first: first, second: first.Add(time.Hour),
		levels: [2]map[string][]float64{{"files cdc": {20}, "goroutines cdc": {30}}, {"files cdc": {24}, "goroutines cdc": {31}}},
		kept: []map[string]float64{{"rows of a": 0, "rows of b": 0, dataOf + " of mysql": 0},
			{"rows of a": 10, "rows of b": 100, dataOf + " of mysql": 10}, {"rows of a": 20, "rows of b": 225, dataOf + " of mysql": 12}},
	}
	took := func(before, last time.Duration) []timed {
		return []timed{{first, before}, {first.Add(2 * time.Hour), last}}
	}
	r.answers.took = map[string][]timed{"GET /same": took(9*time.Millisecond, 9*time.Millisecond),
		"GET /slower": took(4*time.Millisecond, 6*time.Millisecond)}
	text, err := page.Text("soak", soakText, r.soakFigures())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| files cdc | 20 | 24 |", "| 1 means of 1 samples", "| rows of b | 225 | 100 | 125 |", dataOf + " of mysql",
		"1 things grew", "| GET /slower | 4.0 | 6.0 |", "2 operations; longest median 9.0 (GET /same)", "| violations | 0 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	for _, unwanted := range []string{"| goroutines cdc", "| rows of a", "| GET /same"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the page has %q:\n%s", unwanted, text)
		}
	}
}
