package restore

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/devstack/fixtures"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
	"github.com/labplatform/labplatform/scripts/devstack/volume"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
	"github.com/labplatform/labplatform/scripts/e2e/page"
)

//go:embed drills.md
var drillsText string

// drill is the loss of one store, how it was restored, and up to which point.
type drill struct {
	Store, By, Point string
	Took             time.Duration
}

// drills is a platform on which stores are lost and restored in turn.
type drills struct {
	demolab.Platform
	t        *testing.T
	db       *sql.DB
	tools    string
	backup   string
	pipeline bool  // set if Kafka and Elasticsearch run
	patients int64 // number of patients registered so far
	list     []drill
}

// long reports whether the drills include Kafka and Elasticsearch, whose starts take a minute and a half.
func long() bool { return os.Getenv("LAB_LONG_TESTS") == "1" || os.Getenv("LAB_PAGE") != "" }

// pipeline returns the setting that starts Kafka and Elasticsearch in the long form only.
func pipeline() string {
	if long() {
		return "LAB_PIPELINE=on"
	}
	return "LAB_PIPELINE=off"
}

// TestEveryStoreIsLostAloneAndComesBack follows the handbook for one store after the other and measures the times. With
// LAB_PAGE it writes them to that page. The short form has no search, so it checks the rows in the tables.
func TestEveryStoreIsLostAloneAndComesBack(t *testing.T) {
	d := &drills{Platform: demolab.Start(t, pipeline(), "SEARCH_RATE_LIMIT_PER_MINUTE=1000000"), t: t, tools: mongoTools(t),
		backup: t.TempDir(), pipeline: long()}
	var err error
	d.db, err = sql.Open("mysql", d.Endpoints.MySQLDSN)
	must(t, err)
	t.Cleanup(func() { _ = d.db.Close() })
	if os.Getenv("LAB_PAGE") != "" {
		crowd := volume.Laboratory{ID: day.Laboratory, Branch: day.Branch, Tests: []int{55, 64}, FirstBill: 1000}
		all := volume.Config{Users: 10_000, Labs: 1, SeedNumber: 1, Into: &crowd}
		must(t, volume.Load(t.Context(), d.db, all, io.Discard, time.Now))
	}
	haveUsers(t, d.Platform)
	d.found(d.registers())
	if d.pipeline {
		d.search()
		d.kafka()
	}
	d.queue()
	d.objects()
	d.documents()
	d.database()
	if path := os.Getenv("LAB_PAGE"); path != "" {
		var patients int
		must(t, d.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM userDetails").Scan(&patients))
		must(t, page.Write(path, "drills", drillsText, map[string]any{"Drills": d.list, "Patients": patients,
			"Machine": fmt.Sprintf("a machine of %d cores", runtime.NumCPU())}))
	}
}

func (d *drills) took(began time.Time, store, by, point string) {
	d.list = append(d.list, drill{store, by, point, time.Since(began)})
	d.t.Log(d.list[len(d.list)-1])
}

// wipe kills engines and deletes their data, except the files with Kafka's identity. It returns the time of the loss.
func (d *drills) wipe(engines ...string) (lost time.Time) {
	d.t.Helper()
	for _, engine := range engines {
		must(d.t, d.Kill(engine))
	}
	for _, engine := range engines {
		entries, err := os.ReadDir(data(d.Platform, engine))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		must(d.t, err)
		for _, entry := range entries {
			if name := entry.Name(); name != "meta.properties" && name != "bootstrap.checkpoint" {
				must(d.t, os.RemoveAll(filepath.Join(data(d.Platform, engine), name)))
			}
		}
	}
	return time.Now()
}

func (d *drills) start(names ...string) {
	d.t.Helper()
	for _, name := range names {
		must(d.t, d.Start(name, nil))
	}
}

// registers inserts a patient as the core does, and returns the phone number.
func (d *drills) registers() string {
	d.t.Helper()
	d.patients++
	contact := fmt.Sprintf("59%08d", d.patients)
	_, err := d.db.ExecContext(d.t.Context(), "INSERT INTO userDetails (labId_id, branchId, orgId_id, fullName, firstName, contact, countryCode)"+
		" VALUES (?, ?, 45, 'Drill', 'Drill', ?, '91')", day.Laboratory, day.Branch, contact)
	must(d.t, err)
	return contact
}

// found waits until a search finds the patient, or in the short form checks that there is one row.
func (d *drills) found(contact string) {
	d.t.Helper()
	if !d.pipeline {
		if n := d.registered(contact); n != 1 {
			d.t.Errorf("rows with the telephone %s = %d, want 1", contact, n)
		}
		return
	}
	await.Nil(d.t, "the patient in search", func() error {
		answer, err := d.Ask(d.t.Context(), "POST", "/api/v1/users/search", fmt.Sprintf(`{"query":%q}`, contact))
		if err == nil && !strings.Contains(answer, contact) {
			err = errors.New("no one is found: " + answer)
		}
		return err
	})
}

// registered returns the number of the patient's rows.
func (d *drills) registered(contact string) (n int) {
	d.t.Helper()
	must(d.t, d.db.QueryRowContext(d.t.Context(), "SELECT COUNT(*) FROM userDetails WHERE contact = ?", contact).Scan(&n))
	return n
}

// equal checks that the index equals the tables.
func (d *drills) equal() {
	d.t.Helper()
	must(d.t, d.Run(d.t.Context(), "exec", "cdc", "reconcile", "--wait", "2m"))
}

func (d *drills) search() {
	before := d.registers()
	d.found(before)
	lost := d.wipe("elasticsearch")
	d.start("elasticsearch")
	await.Nil(d.t, "cdc rebuild", func() error { return d.Run(d.t.Context(), "exec", "cdc", "rebuild") })
	d.found(before)
	d.took(lost, "Elasticsearch", "`cdc rebuild`, from the tables", "nothing is lost")
	d.found(d.registers())
	d.equal()
}

func (d *drills) kafka() {
	before := d.registers()
	lost := d.wipe("kafka", "connector")
	d.start("kafka")
	await.Nil(d.t, "cdc migrate", func() error { return d.Run(d.t.Context(), "exec", "cdc", "migrate") })
	d.start("connector")
	must(d.t, d.Stop("cdc"))
	d.start("cdc")
	d.found(d.registers())
	d.found(before)
	d.took(lost, "Kafka, with the connectors' offsets and history", "`cdc migrate` and a restart of cdc; connectors start over and all patients are computed again",
		"nothing is lost")
	d.equal()
}

// queue loses the queue's Redis. Messages in an outbox are sent again, jobs that only the queue had are lost, and users
// must sign in again.
func (d *drills) queue() {
	job := schedule(d.t, d.Platform)
	must(d.t, d.Stop("taskqueue"))
	d.MustAsk(d.t, "POST", "/api-v3/sample-rerun/7001/auto", `{"device_data":[{"index":1,"value":"6.1"},{"index":3,"value":"31.5"},{"index":12,"value":"18"}]}`)
	var waiting int
	must(d.t, d.db.QueryRowContext(d.t.Context(), "SELECT COUNT(*) FROM outbox_rerun").Scan(&waiting))
	if waiting == 0 {
		d.t.Fatal("no message waits in the outbox of rerun")
	}
	before := count(d.t, d.db)
	lost := d.wipe("redis")
	d.start("redis", "taskqueue")
	await.Nil(d.t, "the login", func() error { return signIn(d.t.Context(), d.Platform) })
	await.Nil(d.t, "the automatic rerun", func() error {
		reruns, err := d.Reruns(d.t.Context())
		if err == nil && !strings.Contains(reruns, `"type":"Auto"`) {
			err = errors.New("there is only " + reruns)
		}
		return err
	})
	d.took(lost, "Redis of the queue and of sessions, without a copy", "a start of Redis; outboxes fill the queue again, users sign in again",
		fmt.Sprintf("jobs that the queue had accepted and not sent are lost; jobs in an outbox (%d) are sent", waiting))
	if answer := d.MustAsk(d.t, "POST", "/jobInfo/", job); !strings.Contains(answer, "Job not found") {
		d.t.Errorf("a job that was lost is %s", answer)
	}
	after := count(d.t, d.db)
	for table, rows := range before {
		if after[table] < rows && !ofTheInstallation.MatchString(table) {
			d.t.Errorf("with Redis, %s lost %d rows", table, rows-after[table])
		}
	}
	lost = d.wipe("redis")
	d.start("redis")
	await.Nil(d.t, "a request that is counted", func() error {
		return errors.Join(signIn(d.t.Context(), d.Platform), d.answers("/api-v3/notifications/all?limit=1"))
	})
	d.took(lost, "Redis of limits", "a start of Redis", "the counts are lost; every limit begins at zero")
}

func (d *drills) answers(path string) error {
	_, err := d.Ask(d.t.Context(), "GET", path, "")
	return err
}

// signIn creates the demo's sessions again.
func signIn(ctx context.Context, p demolab.Platform) error {
	fixture, err := fixtures.Demo()
	if err != nil {
		return err
	}
	target := seed.Target{MySQLDSN: p.Endpoints.MySQLDSN, RedisAddr: p.Endpoints.RedisAddr, Now: time.Now}
	return target.ApplySessions(ctx, fixture)
}

// objects copies the objects as bucket replication does, loses them, and copies them back.
func (d *drills) objects() {
	at, err := url.Parse(d.Endpoints.BlobURL)
	must(d.t, err)
	const path = "/api-v3/report/external-edit/7001"
	var session struct {
		Template string `json:"template_path"`
	}
	opened := d.MustAsk(d.t, "POST", path, `{"template_id":1,"word_s3_filepath":"templates/report.docx"}`)
	must(d.t, json.Unmarshal([]byte(opened), &session))
	before, err := fetch(d.t.Context(), session.Template)
	must(d.t, err)
	environment := variables(d.t, d.Platform, d.backup)
	follow(d.t, part(d.t, backUpOthers, "mkdir"), environment, d.tools)
	must(d.t, os.RemoveAll(at.Path))
	lost := time.Now()
	if _, err := fetch(d.t.Context(), session.Template); err == nil {
		d.t.Error("the document is still there")
	}
	follow(d.t, part(d.t, restoreOthers, "mkdir"), environment, d.tools)
	same(d.t, "the document", before, func() (string, error) { return fetch(d.t.Context(), session.Template) })
	d.took(lost, "objects", "copying the backup of the bucket back", "the last copy; a versioned bucket loses nothing")
}

func fetch(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, response.Status)
	}
	return string(content), err
}

// part returns those lines of a block of handbook commands that call a program.
func part(t *testing.T, title, program string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(block(t, title)) {
		if strings.HasPrefix(line, program) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("the handbook's commands below %q do not use %s", title, program)
	}
	return strict + strings.Join(lines, "")
}

func (d *drills) documents() {
	environment := variables(d.t, d.Platform, d.backup)
	before := d.MustAsk(d.t, "GET", "/api-v3/sample-rerun/7001", "")
	follow(d.t, part(d.t, backUpOthers, "mongodump"), environment, d.tools)
	lost := d.wipe("mongo")
	d.start("mongo")
	await.Nil(d.t, "mongorestore", func() error { return try(d.t, part(d.t, restoreOthers, "mongorestore"), environment, d.tools) })
	must(d.t, d.Run(d.t.Context(), "exec", "rerun", "migrate"))
	same(d.t, "the reruns", before, func() (string, error) { return d.Reruns(d.t.Context()) })
	d.took(lost, "MongoDB", "`mongorestore`, `rerun migrate`", "the last dump")
}

func (d *drills) database() {
	environment := variables(d.t, d.Platform, d.backup)
	before := d.registers()
	follow(d.t, block(d.t, counting)+block(d.t, backUpDatabase), environment, d.tools)
	after := d.registers()
	d.found(after)
	services := d.Services()
	lost := time.Now()
	_, err := d.db.ExecContext(d.t.Context(), "DROP DATABASE lab")
	must(d.t, err)
	for _, service := range services {
		must(d.t, d.Stop(service))
	}
	follow(d.t, block(d.t, counting)+block(d.t, restoreDatabase), environment, d.tools)
	_ = d.db.Close() // its connections used the deleted database
	d.db, err = sql.Open("mysql", d.Endpoints.MySQLDSN)
	must(d.t, err)
	d.start(services...)
	d.found(before)
	await.Nil(d.t, "the board", func() error { return d.answers("/operation/critical-callout/open") })
	d.took(lost, "MySQL", "the dump, and a start of all services", "the last dump; with the binary log, any second")
	d.found(d.registers())
	if n := d.registered(after); n != 0 {
		d.t.Errorf("rows of a patient who was registered after the dump = %d, want none", n)
	}
	if !d.pipeline {
		return
	}
	must(d.t, d.Run(d.t.Context(), "exec", "cdc", "walk"))
	d.equal()
	if answer := d.MustAsk(d.t, "POST", "/api/v1/users/search", fmt.Sprintf(`{"query":%q}`, after)); strings.Contains(answer, after) {
		d.t.Error("who was registered after the dump is found: " + answer)
	}
}
