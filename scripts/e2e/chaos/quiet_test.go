package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/e2e/page"
	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

func TestAnIdlePlatformStaysWell(t *testing.T) {
	if os.Getenv("LAB_LONG_TESTS") != "1" {
		t.Skip("ten minutes, longer than every idle timeout: LAB_LONG_TESTS=1")
	}
	r, err := perform(t.Context(), options{minutes: 10, seed: 2, faults: "all", quiet: true, charts: charts, out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range r.quietFigures().Violations {
		t.Error(violation)
	}
}

const charts = "../../../charts"

func TestWhatGrowsIsToldFromWhatWavers(t *testing.T) {
	t.Parallel()
	const whole = time.Hour
	for name, c := range map[string]struct {
		value func(minute float64) float64
		grows bool
	}{
		"the same":                    {func(float64) float64 { return 50 }, false},
		"a wave":                      {func(m float64) float64 { return 50 + 4*math.Sin(m) }, false},
		"a start":                     {func(m float64) float64 { return 50 + min(m, 8)*100 }, false},
		"work opens connections":      {func(m float64) float64 { return 50 + 40*min(max(0, m-30), 5) }, false},
		"one a minute":                {func(m float64) float64 { return 50 + m }, true},
		"one a minute while it works": {func(m float64) float64 { return 50 + max(0, m-30) }, true},
		"until work begins":           {func(m float64) float64 { return 50 + min(m, 30) }, false},
		"a burst before the end": {func(m float64) float64 {
			if m > 52 && m < 59 {
				return 120
			}
			return 50
		}, false},
		"less and less": {func(m float64) float64 { return 500 - m }, false},
	} {
		var samples []sample
		for second := 0; second < 3600; second += 10 {
			samples = append(samples, sample{time.Duration(second) * time.Second, c.value(float64(second) / 60)})
		}
		if l := levelOf(name, samples, whole, maxQuiet); l.Grows != c.grows {
			t.Errorf("%s: grows is %v, want %v: %+v", name, l.Grows, c.grows, l)
		}
	}
	waits := []sample{{45 * time.Minute, 0}, {55 * time.Minute, 100}}
	if l := levelOf("waits", waits, whole, maxQuiet); !l.Grows {
		t.Errorf("what was never there before does not grow: %+v", l)
	}
	if l := levelOf("seen late", waits[1:], whole, maxQuiet); l.Grows {
		t.Errorf("what was seen at the end alone grows: %+v", l)
	}
	if l := levelOf("nothing seen", nil, whole, maxQuiet); l.Grows {
		t.Errorf("what was not seen grows: %+v", l)
	}
}

func TestEveryServiceHasTheAlertsThatAllShare(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	files, err := writeRules(charts, folder, []string{"cdc", "rerun"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "cdc-process.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.Contains(s, `job="cdc"`) || !strings.Contains(s, "name: cdc-process") || strings.Contains(s, `job="rerun"`) {
		t.Errorf("the alerts of cdc are\n%s", s)
	}
	if len(files) < 8 {
		t.Errorf("%d files of alerts: %v", len(files), files)
	}
	if files, err := writeRules(folder, folder, nil); err == nil {
		t.Errorf("a folder without charts has the alerts %v, want an error", files)
	}
}

func TestAQuietRunThatWentWrongSaysWhat(t *testing.T) {
	t.Parallel()
	r := brokenRun(t)
	f := r.quietFigures()
	text, err := page.Text("quiet", quietText, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no alert was evaluated", "the alert CDCDown fired of job cdc", "goroutines cdc grew by", "/ready 2× not 200",
		"| ServiceDown | job search | pending | 1.0 s |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	r.watch = watch{alerts: []prometheus.Line{{Labels: map[string]string{"alertname": watchdog, "alertstate": "firing"}}}}
	r.check.violations = nil
	if f := r.quietFigures(); len(f.Violations) > 0 || len(f.Alerts) > 0 {
		t.Errorf("a quiet run has the violations %v and alerts %v", f.Violations, f.Alerts)
	}
	if strings.Contains(text, "search grew") || strings.Contains(text, "ServiceDown fired") {
		t.Errorf("the page reports what did not go wrong:\n%s", text)
	}
}

// brokenRun returns a run in which one process reported itself dead and leaked memory.
func brokenRun(t *testing.T) *run {
	t.Helper()
	r := &run{options: options{minutes: 60, quiet: true, out: t.Output()}, platform: &platform{services: []string{"cdc", "search"}},
		begin: time.Unix(1000, 0)}
	r.people = &people{ledger: &ledger{}, receiver: receive()}
	var err error
	if r.answers, err = newAnswers(r.whatIsBroken); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.people.receiver.Close)
	r.check = &checker{people: r.people, say: r.say}
	line := func(job string, slope float64) prometheus.Line {
		l := prometheus.Line{Labels: map[string]string{"job": job}}
		for second := range 3600 {
			l.Points = append(l.Points, prometheus.Point{1000 + float64(second), 50 + slope*float64(second)/60})
		}
		return l
	}
	alert := func(name, job, state string) prometheus.Line {
		return prometheus.Line{Labels: map[string]string{"alertname": name, "job": job, "alertstate": state},
			Points: []prometheus.Point{{1000, 1}}}
	}
	r.watch = watch{looks: 360, wrong: map[string]map[string]int{"cdc": {"/ready": 2}},
		levels: map[string][]prometheus.Line{"goroutines": {line("cdc", 1), line("search", 0)}},
		alerts: []prometheus.Line{alert("CDCDown", "cdc", "firing"), alert("ServiceDown", "search", "pending")}}
	return r
}
