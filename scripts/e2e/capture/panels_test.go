package capture

import (
	"encoding/base64"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

// photographed is how far back the pictures look.
const photographed = time.Minute

// panels are those of the dashboards that docs/operations.md has pictures of, over a shorter time.
var panels = []struct{ file, title, expr string }{
	{"requests", "Requests a second, by route", `sum by (route) (rate(http_server_request_duration_seconds_count[15s]))`},
	{"latency", "Latency, 99th percentile, seconds",
		`histogram_quantile(0.99, sum by (listener, le) (rate(http_server_request_duration_seconds_bucket[15s])))`},
	{"queue", "Jobs that wait, by channel", `sum by (channel) (taskqueue_lane_jobs)`},
	{"capture", "Records of change capture a second, by table", `sum by (topic) (rate(cdc_messages_processed_total[15s]))`},
	{"freshness", "Age of what search shows, seconds", `search_data_age_seconds`},
}

// photograph draws the panels as Prometheus answers and takes pictures into the folder that LAB_SCREENSHOTS names.
// Debian's Prometheus has no pages of its own.
func photograph(t *testing.T, server *prometheus.Server) {
	t.Helper()
	folder := os.Getenv("LAB_SCREENSHOTS")
	if folder == "" {
		return
	}
	keepAsking(t)
	for _, p := range panels {
		lines, err := server.Range(t.Context(), p.expr, photographed)
		if err != nil || len(lines) == 0 {
			t.Fatalf("%d series of %s, %v", len(lines), p.expr, err)
		}
		page := "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(draw(p.title, lines)))
		b := openTab(t, "", page)
		picture, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, p.file+".png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// keepAsking makes the load that the pictures show.
func keepAsking(t *testing.T) {
	t.Helper()
	db := database(t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := range int(photographed / (50 * time.Millisecond)) {
		<-tick.C
		ask(t)
		if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, 'Panel')", 950_000+n); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	width, height = 1100, 420
	colours       = 8
)

// draw returns a page with the lines and what they are.
func draw(title string, lines []prometheus.Line) string {
	from, to, top := math.Inf(1), math.Inf(-1), 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			from, to = min(from, p[0]), max(to, p[0])
			if !math.IsNaN(p[1]) && !math.IsInf(p[1], 0) {
				top = max(top, p[1])
			}
		}
	}
	var graph, legend strings.Builder
	for i, l := range lines {
		colour := fmt.Sprintf("hsl(%d 70%% 40%%)", i%colours*360/colours)
		var points []string
		for _, p := range l.Points {
			if !math.IsNaN(p[1]) && !math.IsInf(p[1], 0) {
				points = append(points, fmt.Sprintf("%.1f,%.1f", (p[0]-from)/max(to-from, 1)*width, height-p[1]/max(top, 1e-9)*(height-10)))
			}
		}
		fmt.Fprintf(&graph, `<polyline fill="none" stroke-width="2" stroke="%s" points="%s"/>`, colour, strings.Join(points, " "))
		fmt.Fprintf(&legend, `<span style="color:%s">■</span> %s<br>`, colour, html.EscapeString(labels(l)))
	}
	return fmt.Sprintf(`<!doctype html><meta charset="utf-8"><body style="font:15px system-ui"><h3>%s</h3>0 to %.3g, %.0f seconds
<svg width="%d" height="%d" style="display:block;border:1px solid #999">%s</svg><p>%s`, html.EscapeString(title), top, to-from, width, height, &graph, &legend)
}

func labels(l prometheus.Line) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(l.Labels)) {
		if name != "__name__" && name != "instance" {
			out = append(out, name+"="+l.Labels[name])
		}
	}
	return strings.Join(out, " ")
}
