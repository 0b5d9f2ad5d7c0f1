package upgrade

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
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
	t.Logf("the release before is %s", commit)
	t.Run("the programs of the release before answer on this schema", func(t *testing.T) { previousOnPresent(t, p, programs, services) })
	t.Run("a queue full of jobs of the release before is worked off by this one", func(t *testing.T) { fullQueue(t, p) })
	t.Run("the programs of this release say what an older schema needs", func(t *testing.T) { presentOnPrevious(t, p, programs) })
}

// requests have an answer 200 of every service.
var requests = []struct{ service, method, path, body string }{
	{"rerun", "GET", "/api-v3/sample-rerun/7001", ""},
	{"billsplit", "GET", "/api-v3/finance/bill/split/9011/family", ""},
	{"callout", "GET", "/operation/critical-callout/open", ""},
	{"cellcounter", "GET", "/api-v3/cell-counter-mappings/cells", ""},
	{"externaledit", "GET", "/api-v3/report/external-edit/7001/revisions", ""},
	{"notifications", "GET", "/api-v3/notifications/all", ""},
	{"taskqueue", "POST", "/queue/", `[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"upgrade"}}]`},
}

// previousOnPresent replaces one service after the other by its predecessor; in the end all are old. Then the automatic
// rerun goes through the outbox, the queue, the gateway and back.
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
	t.Logf("%d services of the release before answer on this release's schema", len(services))
}

// presentOnPrevious starts rerun on a database that the previous rerun has migrated.
func presentOnPrevious(t *testing.T, p demolab.Platform, programs string) {
	const name = "lab_before"
	makeDatabase(t, p, name)
	change := map[string]string{"RERUN_DB_DATABASE": name, "RERUN_ADMIN_PORT": fmt.Sprint(freeport.One(t)),
		"RERUN_GRPC_PORT": fmt.Sprint(freeport.One(t))}
	run(t, p, change, filepath.Join(programs, "rerun"), "migrate")
	if err := p.StartProgram("rerun-present", p.Endpoints.Commands["rerun"], environment(p, change)); err != nil {
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
	run(t, p, change, p.Endpoints.Commands["rerun"][0], "migrate")
	await.Nil(t, "readiness after the migration", func() error {
		status, body, err := get(admin + "/health/ready")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, body)
		}
		return err
	})
}

func makeDatabase(t *testing.T, p demolab.Platform, name string) {
	t.Helper()
	dsn, err := mysql.ParseDSN(p.Endpoints.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	dsn.DBName = ""
	for _, statement := range []string{"CREATE DATABASE " + name, ""} {
		db, err := sql.Open("mysql", dsn.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if statement == "" {
			err = legacydb.Create(t.Context(), db)
		} else {
			_, err = db.ExecContext(t.Context(), statement)
		}
		if err != nil {
			t.Fatal(err)
		}
		dsn.DBName = name
	}
}

func environment(p demolab.Platform, change map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range p.Endpoints.Environ["rerun"] {
		out[key] = value
	}
	for key, value := range change {
		out[key] = value
	}
	return out
}

// run runs a verb of a program with rerun's settings.
func run(t *testing.T, p demolab.Platform, change map[string]string, program, verb string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, verb)
	cmd.Env = os.Environ()
	for key, value := range environment(p, change) {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, verb, err, out)
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
	if err == nil && json.Unmarshal(text, &fields) == nil { // without the escapes of the encoder
		body = fmt.Sprint(fields)
	}
	return response.StatusCode, body, err
}
