package capture

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
	"github.com/labplatform/labplatform/services"
)

const chartsFolder = "../../../charts"

// threshold matches the comparison at the end of an alert's expression. The part before it always has series.
var threshold = regexp.MustCompile(`\s(==|>|<)\s[^()]*$`)

// TestEveryPanelAndAlertHasSeries scrapes the whole platform with a real Prometheus after a small load. Every panel and
// alert must have series.
func TestEveryPanelAndAlertHasSeries(t *testing.T) {
	folder := t.TempDir()
	rules := rulesOfCharts(t)
	if err := prometheus.Fetch(t.Context(), folder); err != nil {
		engine.Missing(t, fmt.Sprintf("a machine with Debian's apt is needed: %v", err))
	}
	server, err := prometheus.Start(t.Context(), folder, rules, scraped(t), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	expressions := ofPanels(t)
	for _, file := range rules {
		expressions = append(expressions, ofAlerts(t, file)...)
	}
	await.Nil(t, "series for every expression", func() error {
		ask(t) // rates need increases between two scrapes
		for _, expr := range expressions {
			if n, err := server.Series(t.Context(), expr); err != nil || n == 0 {
				return fmt.Errorf("%d series of %s (%w)", n, expr, err)
			}
		}
		return nil
	})
	t.Logf("%d expressions have series", len(expressions))
	photograph(t, server)
}

// rulesOfCharts returns the absolute paths of the charts' files of alerts.
func rulesOfCharts(t *testing.T) (files []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(chartsFolder, "*", "files", "alerts.yaml"))
	if err != nil || len(found) < 7 {
		t.Fatalf("%d files of alerts: %v", len(found), err)
	}
	for _, file := range found {
		absolute, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, absolute)
	}
	return files
}

// scraped returns the address of every service's metrics by name. It is derived from the fixed offsets of the
// platform's ports.
func scraped(t *testing.T) map[string]string {
	t.Helper()
	base, err := url.Parse(platform.Endpoints.Gateway)
	if err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(base.Port())
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]string{}
	for _, s := range services.List() {
		distance := 20 + s.Slot
		if s.Name == services.Gateway {
			distance = 2
		}
		targets[s.Name] = net.JoinHostPort(base.Hostname(), strconv.Itoa(first+distance))
	}
	return targets
}

// ask sends a request that the gateway passes on to a service, and ignores the response.
func ask(t *testing.T) {
	t.Helper()
	response, err := client.Get(platform.Endpoints.Gateway + "/api-v3/sample-rerun/7001")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// board is a dashboard of a chart.
type board struct {
	Title  string
	Panels []panel
}

type panel struct {
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr, LegendFormat string } // Expr is empty in a panel of traces
}

// boards returns the dashboards by chart, with the namespace filled in.
func boards(t *testing.T) map[string]board {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartsFolder, "*", "files", "dashboard.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	found := map[string]board{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d board
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "$namespace", prometheus.Namespace)), &d); err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(filepath.Dir(filepath.Dir(file)))] = d
	}
	return found
}

func ofPanels(t *testing.T) (expressions []string) {
	t.Helper()
	for _, d := range boards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if target.Expr != "" {
					expressions = append(expressions, answered(target.Expr))
				}
			}
		}
	}
	return expressions
}

// answered replaces the class 5xx in expr by 2xx and 4xx, because no request of this test gets 5xx.
func answered(expr string) string {
	return strings.ReplaceAll(expr, `code_class="5xx"`, `code_class=~"2xx|4xx"`)
}

// ofAlerts returns the expressions in a file of rules without thresholds and additional conditions. It skips
// expressions that begin with a recorded series (lab:), which are derived from expressions in the list, and
// expressions of a blackbox exporter.
func ofAlerts(t *testing.T, rules string) (expressions []string) {
	t.Helper()
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		expr, ok := strings.CutPrefix(strings.TrimSpace(line), "expr: ")
		if !ok || strings.HasPrefix(expr, "lab:") || strings.Contains(expr, `job="gateway-public"`) {
			continue
		}
		compared, _, _ := strings.Cut(expr, " or absent(")
		compared, _, _ = strings.Cut(compared, " unless on ")
		compared, _, _ = strings.Cut(compared, " and ")
		compared = threshold.ReplaceAllString(compared, "")
		expressions = append(expressions, answered(compared))
	}
	return expressions
}
