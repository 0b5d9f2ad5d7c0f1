package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func alertsOf(file string) (list []monitoringv1.Rule, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var spec monitoringv1.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, group := range spec.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				list = append(list, rule)
			}
		}
	}
	return list, nil
}

func alertFiles() []string {
	files, _ := filepath.Glob(filepath.Join(root, "*", "files", "alerts.yaml"))
	return files
}

// allAlerts returns the names of all alerts, so that a misspelt one in the values is an error.
func allAlerts() (list []string) {
	for _, file := range alertFiles() {
		alerts, err := alertsOf(file)
		if err != nil {
			panic(err)
		}
		for _, alert := range alerts {
			list = append(list, alert.Alert)
		}
	}
	slices.Sort(list)
	return list
}

var rangeOfIncrease = regexp.MustCompile(`^sum by \([^)]*\) \(increase\([^\[]*\[(\w+)\]\)\) > 0$`)

// TestEveryAlertSaysWhatIsAndWhatToDo checks that the summary has the subject and the value, and the description the
// next step.
func TestEveryAlertSaysWhatIsAndWhatToDo(t *testing.T) {
	t.Parallel()
	for _, file := range alertFiles() {
		chart := filepath.Base(filepath.Dir(filepath.Dir(file)))
		alerts, err := alertsOf(file)
		if err != nil || len(alerts) == 0 {
			t.Fatalf("%s has %d alerts: %v", file, len(alerts), err)
		}
		subject := chart + ": "
		switch chart {
		case "labkit":
			subject = "{{ $labels.job }}: "
		case "gateway":
			subject = "{{ $labels.area }}: "
		}
		for _, alert := range alerts {
			subject := subject
			if strings.Contains(alert.Expr.StrVal, `job="gateway-public"`) {
				subject = "{{ $labels.instance }}: "
			}
			summary, next := alert.Annotations["summary"], alert.Annotations["description"]
			if !strings.HasPrefix(summary, subject) || !regexp.MustCompile(`printf "%.0f" \$value|\$value \| humanize`).MatchString(summary) {
				t.Errorf("%s: the summary %q does not begin with %q or has no formatted value", alert.Alert, summary, subject)
			}
			if next == "" {
				t.Errorf("%s has no description with the next step", alert.Alert)
			}
			if s := alert.Labels["severity"]; s != "critical" && s != "warning" {
				t.Errorf("%s has the severity %q", alert.Alert, s)
			}
			if alert.For == nil {
				continue
			}
			wait, err := time.ParseDuration(string(*alert.For))
			if found := rangeOfIncrease.FindStringSubmatch(alert.Expr.StrVal); found != nil && err == nil {
				if seen, _ := time.ParseDuration(found[1]); wait <= seen {
					t.Errorf("%s: one event is seen for %v, so that waiting for %v filters nothing", alert.Alert, seen, wait)
				}
			}
		}
	}
}

// prometheusRule returns the alerts of a chart by name, rendered with these values below prometheusRule.
func prometheusRule(t *testing.T, chart string, rule, global map[string]any) map[string]monitoringv1.Rule {
	t.Helper()
	rule["enabled"] = true
	list, err := render(load(t, chart), map[string]any{"prometheusRule": rule, "global": map[string]any{"prometheusRule": global}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]monitoringv1.Rule{}
	for _, group := range object[monitoringv1.PrometheusRule](t, list, "PrometheusRule", chart).Spec.Groups {
		for _, r := range group.Rules {
			if r.Alert != "" {
				found[r.Alert] = r
			}
		}
	}
	return found
}

func TestValuesChangeAlerts(t *testing.T) {
	t.Parallel()
	got := prometheusRule(t, "callout", map[string]any{
		"alertLabels": map[string]any{"team": "lab", "severity": "info"}, "disabled": []any{"CalloutNoticesOff"},
		"thresholds": map[string]any{"CalloutWaitsLong": 10800000},
	}, map[string]any{"alertLabels": map[string]any{"team": "everyone", "site": "north"}, "disabled": []any{"OutboxOld"}})
	for name, alert := range got {
		if alert.Labels["team"] != "lab" || alert.Labels["site"] != "north" || alert.Labels["severity"] == "info" {
			t.Errorf("%s has the labels %v", name, alert.Labels)
		}
		version := load(t, "callout").Metadata.AppVersion
		if link := "https://github.com/labplatform/labplatform/blob/v" + version + "/docs/runbooks/"; !strings.HasPrefix(alert.Annotations["runbook_url"], link) {
			t.Errorf("%s links to %s, want %s", name, alert.Annotations["runbook_url"], link)
		}
	}
	if expr := got["CalloutWaitsLong"].Expr.StrVal; !strings.HasSuffix(expr, " > 10800000") {
		t.Errorf("CalloutWaitsLong is %s", expr)
	}
	for _, name := range []string{"CalloutNoticesOff", "OutboxOld"} {
		if _, is := got[name]; is {
			t.Errorf("%s is not disabled", name)
		}
	}
	if _, is := got["CalloutNobodyTold"]; !is {
		t.Error("CalloutNobodyTold is missing")
	}
}

func TestMisspeltAlertsAreRefused(t *testing.T) {
	t.Parallel()
	for word, rule := range map[string]map[string]any{
		"CalloutWaitLong": {"thresholds": map[string]any{"CalloutWaitLong": 1}},
		"disabled":        {"disabled": []any{"CalloutNoticeOff"}},
	} {
		if _, err := render(load(t, "callout"), map[string]any{"prometheusRule": rule}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v gave %v", rule, err)
		}
	}
}

// TestThresholdsOfTheValuesAreThoseOfTheRules compares the defaults of the values with the thresholds in the files of
// rules, which have tests of their own.
func TestThresholdsOfTheValuesAreThoseOfTheRules(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`> [0-9]+`)
	for _, name := range names(t) {
		thresholds, _ := values(t, filepath.Join(root, name, "values.yaml"))["prometheusRule"].(map[string]any)["thresholds"].(map[string]any)
		if len(thresholds) == 0 {
			continue
		}
		alerts, err := alertsOf(filepath.Join(root, name, "files", "alerts.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, alert := range alerts {
			want, is := thresholds[alert.Alert]
			delete(thresholds, alert.Alert)
			if found := number.FindAllString(alert.Expr.StrVal, -1); is && (len(found) != 1 || found[0] != fmt.Sprintf("> %v", want)) {
				t.Errorf("%s of %s compares with %v, want > %v alone", alert.Alert, name, found, want)
			}
			if is && strings.Contains(alert.Annotations["summary"], fmt.Sprint(want)) {
				t.Errorf("%s tells the number that values may change", alert.Alert)
			}
		}
		for left := range thresholds {
			t.Errorf("%s has a threshold of %s, which is no alert of it", name, left)
		}
	}
}
