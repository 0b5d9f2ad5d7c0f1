package stack_test

import (
	"bytes"
	"context"
	"database/sql"
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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/cli"
	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/services"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/stack"
)

// TestMain lets the test binary stand in for devstack: as the document store's process, and as a whole
// supervisor that a test can kill.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "document-store":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	case os.Getenv("STACK_TEST_RUN") != "":
		os.Exit(superviseForTest())
	}
	os.Exit(m.Run())
}

func superviseForTest() int {
	c, err := config(os.Getenv("LAB_DIR"), os.Getenv("LAB_PORT_BASE"), os.Stdout)
	if err == nil {
		err = stack.Run(context.Background(), c)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func config(dir, base string, out io.Writer) (stack.Config, error) {
	s, err := settings.Load(dir, func(name string) string {
		return map[string]string{"LAB_PORT_BASE": base, "LAB_PIPELINE": "off"}[name]
	})
	if err != nil {
		return stack.Config{}, err
	}
	s.Bin = filepath.Join(dir, "bin")
	binary, err := os.Executable()
	if err != nil {
		return stack.Config{}, err
	}
	fake := services.Service{Name: "fakeservice", Package: "./scripts/devstack/internal/stack/testdata/fakeservice",
		Prefix: "FAKE", Admin: ports.RerunAdmin, GRPC: ports.RerunGRPC, Migrates: true,
		Env: func(services.Stack) (services.Env, services.Env) {
			return services.Env{"FAKE_MIGRATED": filepath.Join(dir, "migrated")}, nil
		}}
	return stack.Config{Settings: s, Services: []services.Service{fake}, Binary: binary, Caller: os.Environ(), Out: out, Now: time.Now}, nil
}

// requireEngines skips on a machine without the engines' programs.
func requireEngines(t *testing.T) {
	t.Helper()
	missing := engines.MissingPackages(engines.Wanted{MySQL: true, Redis: true})
	if len(missing) == 0 {
		return
	}
	if os.Getenv("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatalf("not installed: %v", missing)
	}
	t.Skipf("not installed: %v", missing)
}

// freeBase finds a port base whose hundred ports are free now. Tests take different ones.
func freeBase(t *testing.T) string {
	t.Helper()
	baseMutex.Lock()
	defer baseMutex.Unlock()
	for ; nextBase < 32000; nextBase += 100 {
		if allFree(nextBase) {
			nextBase += 100
			return strconv.Itoa(nextBase - 100)
		}
	}
	t.Fatal("no hundred free ports")
	return ""
}

var (
	baseMutex sync.Mutex // guards nextBase
	nextBase  = 21000
)

func allFree(base int) bool {
	for port := base; port < base+40; port++ {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

// output is a buffer that may be written and read at once.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

type started struct {
	endpoints endpoints.Endpoints
	settings  settings.Settings
	out       *output
	stop      func() error
}

// startStack runs a stack in this process until the test ends or stop is called.
func startStack(t *testing.T, dir, base string) *started {
	t.Helper()
	out := &output{}
	c, err := config(dir, base, out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- stack.Run(ctx, c) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	await(t, "endpoints.json", func() error {
		select {
		case err := <-done:
			done <- err
			t.Fatalf("the stack ended: %v\n%s", err, out)
		default:
		}
		_, err := endpoints.Read(dir)
		return err
	})
	e, err := endpoints.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &started{endpoints: e, settings: c.Settings, out: out, stop: stop}
}

// await polls until check succeeds.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(30 * time.Second)
	err := check()
	for ; err != nil && time.Now().Before(deadline); err = check() {
		<-ticker.C
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// identities are the children of a stack, to be recognised later.
func identities(t *testing.T, e endpoints.Endpoints) map[string]process.Identity {
	t.Helper()
	found := map[string]process.Identity{}
	for name, pid := range e.PIDs {
		id, err := process.Identify(pid)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = id
	}
	return found
}

func requireGone(t *testing.T, ids map[string]process.Identity) {
	t.Helper()
	for name, id := range ids {
		if id.Alive() {
			t.Errorf("%s (process %d) still runs", name, id.PID)
		}
	}
}

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
	await(t, "the end is reported", func() error {
		if !strings.Contains(s.out.String(), "fakeservice ended (signal: killed)") {
			return errors.New("not yet")
		}
		return nil
	})
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
	await(t, "the service answers again", func() error {
		response, err := http.Get("http://" + s.settings.Ports.Addr(ports.RerunAdmin) + "/health/ready")
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
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	supervisor := exec.Command(binary)
	supervisor.Env = append(os.Environ(), "STACK_TEST_RUN=1", "LAB_DIR="+dir, "LAB_PORT_BASE="+base)
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
	await(t, "endpoints.json", func() error { _, err := endpoints.Read(dir); return err })
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
	addr := c.Settings.Ports.Addr(ports.RerunAdmin)
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
	dir := t.TempDir()
	c, err := config(dir, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Reset(c.Settings, io.Discard); err == nil {
		t.Fatal("a foreign directory was deleted")
	}
	if err := os.WriteFile(filepath.Join(dir, ".devstack"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := stack.Reset(c.Settings, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("LAB_DIR is left: %v", err)
	}
}

func execSQL(t *testing.T, dsn, statement string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func queryString(t *testing.T, dsn, query string) string {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got string
	if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return got
}
