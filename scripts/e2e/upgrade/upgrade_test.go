package upgrade

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/migrationtest"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
	"github.com/labplatform/labplatform/scripts/e2e/previous"
)

func TestUpgrade(t *testing.T) {
	commit, err := previous.Commit(t.Context())
	if errors.Is(err, previous.ErrShallow) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := demolab.Start(t)
	services, programs := p.Services(), t.TempDir()
	if err := previous.Build(t.Context(), commit, programs, services); err != nil {
		t.Fatal(err)
	}
	t.Logf("the previous version is %s", commit)
	t.Run("the programs of the previous version answer on this schema", func(t *testing.T) { previousOnPresent(t, p, programs, services) })
	t.Run("a queue full of jobs of the previous version is worked off by this one", func(t *testing.T) { fullQueue(t, p) })
	t.Run("the tables of the previous version become those of a new database", func(t *testing.T) { migratedTwice(t, p, programs, services) })
	t.Run("the programs of this version say what a database needs that is not migrated", func(t *testing.T) { presentUnmigrated(t, p) })
}

// requests has a request with a 200 response for every service.
var requests = []struct{ service, method, path, body string }{
	{"rerun", "GET", "/api-v3/sample-rerun/7001", ""},
	{"billsplit", "GET", "/api-v3/finance/bill/split/9011/family", ""},
	{"callout", "GET", "/operation/critical-callout/open", ""},
	{"cellcounter", "GET", "/api-v3/cell-counter-mappings/cells", ""},
	{"externaledit", "GET", "/api-v3/report/external-edit/7001/revisions", ""},
	{"notifications", "GET", "/api-v3/notifications/all", ""},
	{"taskqueue", "POST", "/queue/", `[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"upgrade"}}]`},
}

// previousOnPresent replaces all services by their previous version, one by one. Then an automatic rerun goes through
// the outbox, the queue, the gateway and back.
func previousOnPresent(t *testing.T, p demolab.Platform, programs string, services []string) {
	for _, service := range services {
		if err := p.Stop(service); err != nil {
			t.Fatal(err)
		}
		if err := p.StartProgram(service, []string{filepath.Join(programs, service), "serve"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range requests {
		await.Nil(t, "an answer of the previous "+r.service, func() error { _, err := p.Ask(t.Context(), r.method, r.path, r.body); return err })
	}
	p.Rerun(t)
	t.Logf("%d services of the previous version answer on this version's schema", len(services))
}

// migratedTwice migrates a database with the previous programs and then with the current ones, and another database
// with the current ones only. Both must be equal.
func migratedTwice(t *testing.T, p demolab.Platform, programs string, services []string) {
	upgraded, fresh := makeDatabase(t, p, "lab_upgraded"), makeDatabase(t, p, "lab_fresh")
	for _, service := range services {
		if service == "gateway" {
			continue
		}
		present := p.Endpoints.Commands[service][0]
		on := func(database string) map[string]string {
			return map[string]string{strings.ToUpper(service) + "_DB_DATABASE": database}
		}
		run(t, p, service, on("lab_upgraded"), filepath.Join(programs, service), "migrate")
		run(t, p, service, on("lab_upgraded"), present, "migrate")
		run(t, p, service, on("lab_fresh"), present, "migrate")
	}
	got, want := migrationtest.Tables(t, upgraded), migrationtest.Tables(t, fresh)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-new database +upgraded database):\n%s", diff)
	}
	t.Logf("%d tables are the same", len(want))
}

// presentUnmigrated starts rerun on a database that was never migrated.
func presentUnmigrated(t *testing.T, p demolab.Platform) {
	const name = "lab_unmigrated"
	makeDatabase(t, p, name)
	change := map[string]string{"RERUN_DB_DATABASE": name, "RERUN_ADMIN_PORT": fmt.Sprint(freeport.One(t)),
		"RERUN_GRPC_PORT": fmt.Sprint(freeport.One(t))}
	if err := p.StartProgram("rerun-present", p.Endpoints.Commands["rerun"], environment(p, "rerun", change)); err != nil {
		t.Fatal(err)
	}
	const says = "the database's schema is older than this release of rerun"
	admin := "http://127.0.0.1:" + change["RERUN_ADMIN_PORT"]
	await.Nil(t, "what is wrong, in /health", func() error {
		status, body, err := get(admin + "/health/ready")
		if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(body, says) || !strings.Contains(body, "run rerun migrate") {
			return fmt.Errorf("/health/ready answers %d %s %w", status, body, err)
		}
		return nil
	})
	if _, body, err := get(admin + "/health"); err != nil || !strings.Contains(body, says) {
		t.Errorf("/health says %s, %v", body, err)
	}
	log, err := os.ReadFile(filepath.Join(p.Dir, "logs", "rerun-present.log"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(log), says); lines != 1 {
		t.Errorf("%d lines of the log say so, want one:\n%s", lines, log)
	}
	run(t, p, "rerun", change, p.Endpoints.Commands["rerun"][0], "migrate")
	await.Nil(t, "readiness after the migration", func() error {
		status, body, err := get(admin + "/health/ready")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
}

// makeDatabase creates a database with the tables of the platform's core.
func makeDatabase(t *testing.T, p demolab.Platform, name string) *sql.DB {
	t.Helper()
	dsn, err := mysql.ParseDSN(p.Endpoints.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	dsn.DBName = ""
	if _, err := open(t, dsn).ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	dsn.DBName = name
	db := open(t, dsn)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

func open(t *testing.T, dsn *mysql.Config) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func environment(p demolab.Platform, service string, change map[string]string) map[string]string {
	out := maps.Clone(p.Endpoints.Environ[service])
	maps.Copy(out, change)
	return out
}

// run runs a verb of a program with a service's settings and changes.
func run(t *testing.T, p demolab.Platform, service string, change map[string]string, program, verb string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, verb)
	cmd.Env = os.Environ()
	for key, value := range environment(p, service, change) {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: got %v\n%s", program, verb, err, out)
	}
}

var client = &http.Client{Timeout: 20 * time.Second}

func get(address string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	var fields map[string]any
	text, err := io.ReadAll(response.Body)
	if err == nil && json.Unmarshal(text, &fields) == nil { // the decoded text, without JSON escapes
		body = fmt.Sprint(fields)
	}
	return response.StatusCode, body, err
}
