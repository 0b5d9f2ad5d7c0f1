package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const files = "../../charts/lab/files"

func TestTheCommittedDashboardsAreThese(t *testing.T) {
	t.Parallel()
	for _, b := range boards() {
		want, err := b.render()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(files, "dashboards", b.name+".json"))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s.json is not what the program writes (%v): run make dashboards", b.name, err)
		}
	}
}

var runbook = regexp.MustCompile(`alert: (\w+)[\s\S]*?runbook: docs/runbooks/(\w+\.md)#(\w+)`)

func TestEveryAlertHasItsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(files, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := runbook.FindAllStringSubmatch(string(text), -1)
	if len(alerts) != strings.Count(string(text), "- alert: ") {
		t.Fatalf("%d alerts name a runbook, of %d", len(alerts), strings.Count(string(text), "- alert: "))
	}
	for _, a := range alerts {
		page, err := os.ReadFile(filepath.Join("../../docs/runbooks", a[2]))
		if err != nil || !strings.Contains(string(page), "\n## "+a[1]+"\n") || a[3] != strings.ToLower(a[1]) {
			t.Errorf("%s has no section %q in %s (%v)", a[1], a[3], a[2], err)
		}
	}
}
