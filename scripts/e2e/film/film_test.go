package film

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	_ "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
	"github.com/labplatform/labplatform/scripts/e2e/browser"
)

// Sessions of the demo: Asha works in two departments, Sunita is the administrator, support sees every department.
const (
	asha    = "demo-lab-user"
	sunita  = "demo-admin"
	support = "demo-support"
)

// camera is a browser that takes pictures of the running platform.
type camera struct {
	*browser.Page
	gateway, dir string
	scenes       int
}

// TestFilmOfAWorkingDay uses the pages as the people of the demo laboratory do, and takes pictures.
func TestFilmOfAWorkingDay(t *testing.T) {
	dir := os.Getenv("LAB_FILM")
	if dir == "" {
		t.Skip("LAB_FILM names no folder for the pictures: make film FILM=/tmp/film")
	}
	lab := os.Getenv("LAB_DIR")
	running, err := endpoints.Read(lab)
	if err != nil {
		t.Fatalf("no platform runs: %v; make run", err)
	}
	prepare(t, lab, running)
	c := &camera{Page: browser.Visit(t, running.Gateway, asha), gateway: running.Gateway, dir: dir}
	c.findAndSplit()
	c.board()
	c.count()
	c.document()
	t.Logf("%d scenes are in %s", c.scenes, dir)
}

// prepare adds open results: 24 in time, and one overdue result in the last department.
func prepare(t *testing.T, lab string, running endpoints.Endpoints) {
	t.Helper()
	now := time.Now()
	tables := map[string][]string{
		"AllTests":          {`{"id":990067,"labId_id":12,"testName":"Dengue Platelets","departmentId_id":7,"isProfile":0}`},
		"ReportFormat":      {`{"id":990067,"testId_id":990067,"index":1,"order":1,"parameterName":"Platelets","unit":"thousand/uL","valueType":"numeric","isDisabled":0}`},
		"ReportFormatRange": {`{"id":990067,"reportFormatId_id":990067,"gender":"A","ageFrom":0,"ageFromUnit":"D","ageTo":null,"ageToUnit":"Y","lowerBound":"150","upperBound":"410","criticalLower":"20","criticalUpper":"1000","displayRange":"150 - 410"}`},
	}
	waits := func(n, test, index int, name, value string, minutes, escalations int) {
		id, patient := 990100+n, 501+n%10
		detected := now.Add(-time.Duration(minutes) * time.Minute)
		for table, row := range map[string]string{
			"billing":           fmt.Sprintf(`{"id":%d,"labId_id":12,"labBillId":%[1]d,"orderNumber":"FILM-%[1]d","userDetailsId_id":%d,"orgId_id":45,"docId_id":301}`, id, patient),
			"billingInfo":       fmt.Sprintf(`{"id":%d,"billId_id":%[1]d,"labId_id":12,"testId_id":%d}`, id, test),
			"labReportRelation": fmt.Sprintf(`{"id":%d,"labId_id":12,"billId_id":%[1]d,"billingInfoId_id":%[1]d,"userDetailsId_id":%d,"reportID_id":%d,"orgId_id":45,"sampleId":"FILM%[1]d","sampleCollected":1,"sampleCollectionTime":"2026-11-19T04:07:30Z","criticalValues":1}`, id, patient, test),
			"reportValues":      fmt.Sprintf(`{"labReportId_id":%d,"index":%d,"order":%[2]d,"parameter_name":%q,"value":%q}`, id, index, name, value),
			"callout_episode": fmt.Sprintf(`{"id":%d,"lab_id":12,"bill_id":%[1]d,"lab_report_id":%[1]d,"detected_at":%d,"due_at":%d,"escalations":%d}`,
				id, detected.UnixMilli(), now.Add(30*time.Minute).UnixMilli(), escalations),
		} {
			tables[table] = append(tables[table], row)
		}
	}
	for n := range 24 {
		test, index, name, value := 66, 2, "Potassium", fmt.Sprintf("%.1f", 6.6+float64(n)/10)
		if n%3 == 0 {
			test, index, name, value = 55, 1, "Haemoglobin", fmt.Sprintf("%.1f", 4.5+float64(n)/20)
		}
		waits(n, test, index, name, value, 1+n, 0)
	}
	waits(24, 990067, 1, "Platelets", "9", 95, 2)
	var parts []string
	for table, rows := range tables {
		parts = append(parts, fmt.Sprintf(`%q:[%s]`, table, strings.Join(rows, ",")))
	}
	fixture, err := seed.Parse([]byte(`{"mysql":{`+strings.Join(parts, ",")+`}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	target, err := seed.Stack(lab)
	if err != nil {
		t.Fatal(err)
	}
	forget(t, running)
	if _, err := target.Apply(t.Context(), fixture); err != nil {
		t.Fatal(err)
	}
}

// forget removes the rows of an earlier film.
func forget(t *testing.T, running endpoints.Endpoints) {
	t.Helper()
	db, err := sql.Open("mysql", running.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"DELETE FROM callout_episode WHERE bill_id BETWEEN 990100 AND 990199", "DELETE FROM callout_statement WHERE bill_id BETWEEN 990100 AND 990199",
		"DELETE FROM cell_count WHERE lab_report_id = 7001", "DELETE FROM cell_counter_mappings WHERE test_id = 55 AND lab_id = 12", "UPDATE external_edit_session SET is_active = 0 WHERE lab_report_id = 7001",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// scene saves pictures of the page under the next number.
func (c *camera) scene(name string) {
	c.T.Helper()
	c.scenes++
	ctx, cancel := context.WithTimeout(c.Ctx, time.Minute)
	defer cancel()
	c.Film(ctx, filepath.Join(c.dir, fmt.Sprintf("%02d-%s", c.scenes, name)))
}

// visit opens a page and waits until an expression is true.
func (c *camera) visit(path, shown string) {
	c.T.Helper()
	c.Do(chromedp.Navigate(c.gateway + path))
	c.Await(path, shown)
}

func (c *camera) login(session string) {
	c.T.Helper()
	c.Do(browser.Command(network.SetCookie, network.SetCookieParams{Name: "sessionid", Value: session, URL: c.gateway}))
}

func (c *camera) click(selector string) {
	c.T.Helper()
	c.Eval(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// findAndSplit scans the barcode of a sample, opens its patient and its bill, moves a test to a new bill, and undoes that.
func (c *camera) findAndSplit() {
	c.T.Helper()
	c.visit("/", `document.querySelectorAll(".figure:not(:empty)").length > 3`)
	c.scene("landing")
	c.visit("/search/", `document.querySelector(".find") !== null`)
	c.click(".find")
	c.Press(strings.Split("A00311EDTA", "")...)
	c.Press(kb.Enter)
	c.Await("what can be done", `document.querySelectorAll("#command-list [role=option]").length > 2`)
	c.scene("barcode")
	c.click("#command-list a[href^='/search/']")
	c.Await("the patient", `!document.getElementById("detail")?.hidden`)
	c.scene("patient")
	c.visit("/search/", `document.querySelector(".find") !== null`)
	c.Fill("box", "input", "sharma")
	c.Await("the list", `document.querySelectorAll("#results li").length > 0`)
	c.scene("search")
	c.visit("/bill/?bill=9011", `document.querySelector("#family article input") !== null`)
	c.Eval(`[...document.querySelectorAll('[data-bill="9011"] label')].find((l) => l.textContent.includes("Glucose")).querySelector("input").click()`)
	c.Await("the amounts", `!document.getElementById("sums").hidden`)
	c.scene("bill")
	c.click("#do")
	c.Await("the new bill", `document.getElementById("state").textContent.includes("was created")`)
	c.scene("bill-split")
	c.Eval(`window.confirm = () => true`)
	c.Eval(`[...document.querySelectorAll("#family button")].filter((b) => b.textContent === "Undo this split").at(-1).click()`)
	c.Await("undone", `document.getElementById("state").textContent.includes("is undone")`)
	c.scene("bill-undone")
}

// board shows the overdue result of the last department, compact and as cards, and its call.
func (c *camera) board() {
	c.T.Helper()
	c.login(sunita)
	c.visit("/callout/", `document.querySelector('[data-report="990124"].late') !== null`)
	c.scene("board")
	c.click("#compact")
	c.scene("board-compact")
	c.click(`[data-report="990124"]`)
	c.Await("the dialog", `document.getElementById("dialog").open`)
	c.click("#claim-button")
	c.Await("the claim", `document.getElementById("claim-text").textContent.startsWith("You are calling")`)
	c.Await("the history", `!document.getElementById("history").textContent.includes("Loading")`)
	c.scene("callout")
	c.click("#close")
	c.login(support)
	c.visit("/callout/", `document.querySelector(".compact .claim") !== null`)
	c.scene("board-claimed")
	c.click("#compact")
	c.login(asha)
	c.visit("/notifications/", `document.querySelectorAll("#list li").length > 0`)
	c.scene("notifications")
}

// count maps keys on the settings page, and counts 100 cells of report 7001 twice: with the keyboard, and as another
// person with the keypad of a tablet.
func (c *camera) count() {
	c.T.Helper()
	c.visit("/cell-counter-keys/?test=55", `document.querySelectorAll("#rows tr").length > 0`)
	c.scene("keys-none")
	c.Eval(`fetch("/api-v3/cell-counter-mappings/55", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({lab_id: 12, target_count: 100,
		mappings: [["n", 1, 9], ["l", 3, 10], ["m", 4, 11], ["e", 5, 12]].map(([key, cell_id, at]) => ({key, cell_id, report_format_index: at, report_format_order: at}))})}).then((r) => { window.mapped = r.ok; })`)
	c.Await("the keys are mapped", `window.mapped === true`)
	c.visit("/cell-counter-keys/?test=55", `document.querySelectorAll("#rows kbd").length === 4`)
	c.scene("keys-mapped")
	const keys = `document.querySelectorAll("#cells tr").length > 0`
	c.visit("/cell-counter/?test=55&report=7001", keys)
	c.Press(strings.Split(strings.Repeat("nnnnnlllme", 8)+"nnnn", "")...)
	c.scene("count")
	c.Press(strings.Split("nnnnlllnnnnnlllm", "")...)
	c.Press(kb.Enter)
	c.Await("saved", `document.getElementById("message").textContent.startsWith("Saved")`)
	c.login(sunita)
	c.visit("/cell-counter/?test=55&report=7001", keys)
	c.Fill("observer", "change", "2")
	c.click("#touch")
	c.Await("the keypad", `document.querySelectorAll("#keypad button").length > 0`)
	c.tap(60)
	c.scene("keypad")
	c.tap(40)
	c.click("#finish")
	c.Await("both observers", `!document.getElementById("comparison").hidden`)
	c.scene("observers")
}

// document opens a report as a document; then its author ends the session.
func (c *camera) document() {
	c.T.Helper()
	c.login(asha)
	c.visit("/external-edit/?report=7001", `document.getElementById("held").textContent !== ""`)
	c.scene("document")
	c.click("#open")
	c.Await("open", `document.querySelector("#opened a") !== null`)
	c.scene("document-open")
	c.click("#end")
	c.Await("the question", `document.getElementById("ask").open`)
	c.scene("document-question")
	c.click("#yes")
	c.Await("ended", `document.getElementById("held").textContent.startsWith("No one edits")`)
}

// tap counts n cells on the keypad, repeating six neutrophils, three lymphocytes and one monocyte.
func (c *camera) tap(n int) {
	c.T.Helper()
	for i := range n {
		c.click(fmt.Sprintf("#keypad button:nth-child(%d)", []int{1, 1, 1, 1, 1, 1, 2, 2, 2, 3}[i%10]))
	}
}
