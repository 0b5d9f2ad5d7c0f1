package capture

import (
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

// photographed is the period that the pictures show.
const photographed = 2 * time.Minute

// photograph draws the dashboards of some charts with data of Prometheus, and stores pictures in the folder
// LAB_SCREENSHOTS. The panels are drawn here, at their positions, because Grafana is in no package registry.
func photograph(t *testing.T, server *prometheus.Server) {
	t.Helper()
	folder := os.Getenv("LAB_SCREENSHOTS")
	if folder == "" {
		return
	}
	keepAsking(t)
	all := boards(t)
	for _, chart := range []string{"gateway", "taskqueue", "search", "cdc"} {
		page := "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(drawBoard(t, server, all[chart])))
		b := openTab(t, "", page)
		picture, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "board-"+chart+".png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// keepAsking causes the load that the pictures show: twenty times a second a request, a search, a new patient and a
// message.
func keepAsking(t *testing.T) {
	t.Helper()
	db, someone := database(t), user(t, 12, 1)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := range int(photographed / (50 * time.Millisecond)) {
		<-tick.C
		ask(t)
		if _, err := someone.search(t, platform.Endpoints.Gateway, `{"query":"panel"}`); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, 'Panel')", 950_000+n); err != nil {
			t.Fatal(err)
		}
		const message = `[{"task":2,"task_type":1,"data":{"to":["panel@example.org"],"subject":"Report","message":"Your report is ready"}}]`
		if got := someone.send(t, http.MethodPost, platform.Endpoints.Gateway+"/queue/", message); got.status != http.StatusOK {
			t.Fatalf("a message is answered with %d %s", got.status, got.body)
		}
	}
}

// A board is 24 columns wide.
const (
	column, row   = 58, 30
	width, height = 12*column - 40, 130
	colours       = 8
)

// drawBoard returns a page with the panels that show metrics.
func drawBoard(t *testing.T, server *prometheus.Server, d board) string {
	t.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, `<!doctype html><meta charset="utf-8"><body style="font:12px system-ui;width:%dpx"><h2>%s</h2><div style="position:relative">`,
		24*column, html.EscapeString(d.Title))
	for _, p := range d.Panels {
		var lines []line
		for _, target := range p.Targets {
			if target.Expr != "" {
				lines = append(lines, linesOf(t, server, target.Expr, target.LegendFormat)...)
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&page, `<div style="position:absolute;left:%dpx;top:%dpx">%s</div>`, p.GridPos.X*column, p.GridPos.Y*row, draw(p.Title, lines))
		}
	}
	return page.String()
}

// line is a series with its name in the panel.
type line struct {
	name   string
	points []prometheus.Point
}

// inLegend matches a label in the legend format of a panel: {{label}}.
var inLegend = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

func linesOf(t *testing.T, server *prometheus.Server, expr, legend string) (lines []line) {
	t.Helper()
	answered, err := server.Range(t.Context(), expr, photographed)
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range answered {
		name := inLegend.ReplaceAllStringFunc(legend, func(label string) string {
			return series.Labels[inLegend.FindStringSubmatch(label)[1]]
		})
		lines = append(lines, line{name, series.Points})
	}
	return lines
}

// draw returns the HTML of a panel: its title, its lines and its legend.
func draw(title string, lines []line) string {
	from, to, top := math.Inf(1), math.Inf(-1), 0.0
	for _, l := range lines {
		for _, p := range l.points {
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
		for _, p := range l.points {
			if !math.IsNaN(p[1]) && !math.IsInf(p[1], 0) {
				points = append(points, fmt.Sprintf("%.1f,%.1f", (p[0]-from)/max(to-from, 1)*width, height-p[1]/max(top, 1e-9)*(height-10)))
			}
		}
		fmt.Fprintf(&graph, `<polyline fill="none" stroke-width="2" stroke="%s" points="%s"/>`, colour, strings.Join(points, " "))
		fmt.Fprintf(&legend, `<span style="color:%s">■</span> %s `, colour, html.EscapeString(l.name))
	}
	return fmt.Sprintf(`<b>%s</b> 0 to %.3g<svg width="%d" height="%d" style="display:block;border:1px solid #bbb">%s</svg>
<div style="width:%dpx;height:60px;overflow:hidden">%s</div>`, html.EscapeString(title), top, width, height, &graph, width, &legend)
}
