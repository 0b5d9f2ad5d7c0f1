package stack_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/stack"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

func TestAStackStartsStopsAndKeepsItsData(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	dir, base := t.TempDir(), freeBase(t)
	first := startStack(t, dir, base)
	for _, name := range []string{"mysql", "redis", "mongo", "fakeservice"} {
		if first.endpoints.PIDs[name] == 0 || len(first.endpoints.Commands[name]) == 0 || first.endpoints.Environ[name] == nil {
			t.Errorf("endpoints.json says nothing of %s", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "migrated")); err != nil || string(text) != strconv.Itoa(first.settings.Ports.Port(ports.MySQL)) {
		t.Errorf("migrate saw %q, %v", text, err)
	}
	requireFixture(t, dir)
	execSQL(t, first.endpoints.MySQLDSN, "UPDATE `labs` SET `labName` = 'renamed by a user' WHERE `id` = 12")
	ids := identities(t, first.endpoints)
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	requireGone(t, ids)
	if _, err := endpoints.Read(dir); !errors.Is(err, endpoints.ErrNotRunning) {
		t.Errorf("endpoints.json after the stop: %v", err)
	}

	second := startStack(t, dir, base)
	if got := queryString(t, second.endpoints.MySQLDSN, "SELECT `labName` FROM `labs` WHERE `id` = 12"); got != "renamed by a user" {
		t.Errorf("after a second start the laboratory is called %q: the demo was loaded again", got)
	}
	if second.endpoints.JWTSecrets != first.endpoints.JWTSecrets {
		t.Error("the secrets changed with the restart")
	}
}

// requireFixture loads rows of tables whose services the stack does not run.
func requireFixture(t *testing.T, dir string) {
	t.Helper()
	target, err := seed.Stack(dir)
	if err != nil {
		t.Fatal(err)
	}
	fixture, err := seed.Parse([]byte(`{"mysql":{"Notifications":[{"id":1,"lab_id":12,"notification_type_id":2,"message":{"title":"x"},"created_at":1}],
		"user_meta":[{"user_id":501,"lab_id":12}]},"clear":true}`), dir)
	if err != nil {
		t.Fatal(err)
	}
	if counts, err := target.Apply(t.Context(), fixture); err != nil || counts.Rows != 2 {
		t.Errorf("a fixture of later areas: %v, %v", counts, err)
	}
}

func TestTwoStacksRunSideBySide(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	one, two := startStack(t, t.TempDir(), freeBase(t)), startStack(t, t.TempDir(), freeBase(t))
	execSQL(t, one.endpoints.MySQLDSN, "UPDATE `labs` SET `labName` = 'one' WHERE `id` = 12")
	if got := queryString(t, two.endpoints.MySQLDSN, "SELECT `labName` FROM `labs` WHERE `id` = 12"); got == "one" {
		t.Fatal("the second stack uses the first one's database")
	}
	if err := one.stop(); err != nil {
		t.Fatal(err)
	}
	if got := queryString(t, two.endpoints.MySQLDSN, "SELECT 'alive'"); got != "alive" {
		t.Fatal("stopping the first stack ended the second")
	}
}

func TestAKilledServiceIsNeitherRestartedNorEndsTheStack(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	s := startStack(t, t.TempDir(), freeBase(t))
	if err := syscall.Kill(s.endpoints.PIDs["fakeservice"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the report of the end", func() bool { return strings.Contains(s.out.String(), "fakeservice ended (signal: killed)") })
	if !stack.Running(s.settings) {
		t.Fatal("the stack ended with its child")
	}

	again := exec.Command(s.endpoints.Commands["fakeservice"][0], s.endpoints.Commands["fakeservice"][1:]...)
	for key, value := range s.endpoints.Environ["fakeservice"] {
		again.Env = append(again.Env, key+"="+value)
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Process.Kill(); _ = again.Wait() })
	await.Nil(t, "an answer of the service", func() error {
		response, err := http.Get("http://" + s.settings.Ports.Addr(ports.Admin("rerun")) + "/health/ready")
		if err == nil {
			response.Body.Close()
		}
		return err
	})
}

func TestStopEndsWhatAKilledSupervisorLeftBehind(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	dir, base := t.TempDir(), freeBase(t)
	binary := writeBase(t, dir, base)
	supervisor := exec.Command(binary, "--dir", dir, "run")
	out := &output{}
	supervisor.Stdout, supervisor.Stderr = out, out
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = supervisor.Process.Kill() })
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(out)
		}
	})
	await.Nil(t, "endpoints.json", func() error { _, err := endpoints.Read(dir); return err })
	e, err := endpoints.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := identities(t, e)
	if err := supervisor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = supervisor.Wait()

	c, err := config(dir, base, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Stop(c.Settings, out); err != nil {
		t.Fatal(err)
	}
	requireGone(t, ids)
	if _, err := endpoints.Read(dir); !errors.Is(err, endpoints.ErrNotRunning) {
		t.Fatalf("endpoints.json is left: %v", err)
	}
}

func TestUpReturnsWithAReadyStackInTheBackgroundAndStopEndsIt(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	dir, base := t.TempDir(), freeBase(t)
	binary := writeBase(t, dir, base)
	c, err := config(dir, base, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := stack.Up(t.Context(), c.Settings, binary, &said); err != nil {
		t.Fatalf("got %v\n%s", err, said.String())
	}
	t.Cleanup(func() { _ = stack.Stop(c.Settings, io.Discard) })
	e, err := endpoints.Read(dir)
	if err != nil || !strings.Contains(said.String(), e.Gateway) {
		t.Fatalf("%v; up said %q", err, said.String())
	}
	if !stack.Status(c.Settings, &said) {
		t.Fatalf("status: not ready\n%s", said.String())
	}
	ids := identities(t, e)
	if err := stack.Stop(c.Settings, &said); err != nil {
		t.Fatal(err)
	}
	requireGone(t, ids)
	if stack.Status(c.Settings, &said) || stack.Running(c.Settings) {
		t.Fatal("still there after the stop")
	}
	if err := stack.Stop(c.Settings, &said); err != nil {
		t.Fatalf("stopping twice: %v", err)
	}
}

func TestUpExplainsAStackThatDoesNotStart(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	dir, base := t.TempDir(), freeBase(t)
	binary := writeBase(t, dir, base)
	c, err := config(dir, base, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", c.Settings.Ports.Addr(ports.Mongo))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var said bytes.Buffer
	if err := stack.Up(t.Context(), c.Settings, binary, &said); err == nil || !strings.Contains(said.String(), "(mongo) is in use") {
		t.Fatalf("up: %v, said %q", err, said.String())
	}
	if stack.Running(c.Settings) {
		t.Fatal("something still runs")
	}
}

func TestASecondRunOnTheSameDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	dir, base := t.TempDir(), freeBase(t)
	startStack(t, dir, base)
	c, err := config(dir, base, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Run(t.Context(), c); !errors.Is(err, stack.ErrRunning) {
		t.Fatalf("second run: %v", err)
	}
	var said bytes.Buffer
	if err := stack.Up(t.Context(), c.Settings, "/nonexistent", &said); err != nil || !strings.Contains(said.String(), "runs already") {
		t.Fatalf("up on a running stack: %v, %q", err, said.String())
	}
}

func TestAPortInUseIsNamedWithItsOwner(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	dir, base := t.TempDir(), freeBase(t)
	c, err := config(dir, base, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	addr := c.Settings.Ports.Addr(ports.Admin("rerun"))
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	err = stack.Run(t.Context(), c)
	_, port, _ := net.SplitHostPort(addr)
	if err == nil || !strings.Contains(err.Error(), "port "+port) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Fatalf("error = %v, want port %s and process %d", err, port, os.Getpid())
	}
}

func TestResetDeletesOnlyWhatDevstackMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries     []string
		fails, left bool
	}{
		"a foreign directory":                {entries: []string{"thesis.txt"}, fails: true, left: true},
		"its own directory":                  {entries: []string{"run/", ".devstack", "data/", "bin/"}},
		"a directory that held files before": {entries: []string{"run/", "data/", "secrets.json", "thesis.txt"}, left: true},
		"one that other tools of ours use":   {entries: []string{"run/", "bench/", "test-results/"}},
		"a directory that is absent":         {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "lab")
			for _, entry := range c.entries {
				path := filepath.Join(dir, entry)
				if strings.HasSuffix(entry, "/") {
					path = filepath.Join(path, "file")
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cfg, err := config(dir, "", io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if err := stack.Reset(cfg.Settings, io.Discard); (err != nil) != c.fails {
				t.Fatalf("reset: %v", err)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			if c.left && (len(left) != 1 || filepath.Base(left[0]) != "thesis.txt") {
				t.Fatalf("left: %v, want thesis.txt alone", left)
			}
			if _, err := os.Stat(dir); !c.left && !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("LAB_DIR is left: %v, %v", left, err)
			}
		})
	}
}

func TestOutsideEnginesAreUsedAndALesserRedisSlowsNothingDown(t *testing.T) {
	t.Parallel()
	requireEngines(t)
	db, dsn := mysqltest.Open(t)
	redis := redistest.Start(t, "--appendfsync", "everysec")
	out := &output{}
	c, err := config(t.TempDir(), freeBase(t), out)
	if err != nil {
		t.Fatal(err)
	}
	c.Settings.MySQLDSN, c.Settings.RedisAddr, c.Settings.MongoURI = dsn, redis.Addr, mongotest.URI(t)
	s := startConfigured(t, c, out)
	for _, name := range []string{"mysql", "redis", "mongo"} {
		if _, started := s.endpoints.PIDs[name]; started {
			t.Errorf("%s was started beside the one outside", name)
		}
	}
	if s.endpoints.RedisAddr != redis.Addr || !strings.Contains(s.out.String(), "TASKQUEUE_PROFILE=fast") {
		t.Errorf("Redis is %s; said %s", s.endpoints.RedisAddr, s.out)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	var laboratories int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM labs").Scan(&laboratories); err != nil || laboratories == 0 {
		t.Fatalf("%d laboratories in the outside database, %v", laboratories, err)
	}
	if err := redis.Client().Ping(t.Context()).Err(); err != nil {
		t.Fatalf("the outside Redis was stopped: %v", err)
	}
}
