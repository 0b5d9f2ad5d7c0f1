package stack_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/cli"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/stack"
	"github.com/labplatform/labplatform/services"
)

// TestMain also runs the test binary as devstack: as the process of the document store, and as a supervisor that a test
// can kill.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "document-store":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	case len(os.Args) == 4 && os.Args[1] == "--dir" && os.Args[3] == "run":
		os.Exit(superviseForTest(os.Args[2]))
	}
	os.Exit(m.Run())
}

// baseFile holds the port base in a supervisor's LAB_DIR, because parallel tests cannot use the environment.
const baseFile = "base"

func superviseForTest(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	base, err := os.ReadFile(filepath.Join(dir, baseFile))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c, err := config(dir, string(base), os.Stdout)
	if err == nil {
		err = stack.Run(ctx, c)
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
	fake := roster.Service{
		Service: services.Service{Name: "fakeservice", Prefix: "FAKE", AdminVariable: "ADMIN_PORT", Migrates: true},
		Package: "./scripts/devstack/internal/stack/testdata/fakeservice", HealthPort: ports.Admin("rerun"), CallPort: ports.GRPC("rerun"),
		Env: func(roster.Stack) (roster.Env, roster.Env) {
			return roster.Env{"FAKE_MIGRATED": filepath.Join(dir, "migrated"), "FAKE_SERVICES": filepath.Join(s.Root, "services")}, nil
		}}
	return stack.Config{Settings: s, Services: []roster.Service{fake}, Binary: binary, Caller: os.Environ(), Out: out, Now: time.Now}, nil
}

// requireEngines skips the test on a machine without the engines' programs.
func requireEngines(t *testing.T) {
	t.Helper()
	missing := install.MissingPackages(install.Wanted{MySQL: true, Redis: true})
	if len(missing) == 0 {
		return
	}
	if os.Getenv("LAB_REQUIRE_ENGINES") == "1" {
		t.Fatalf("not installed: %v", missing)
	}
	t.Skipf("not installed: %v", missing)
}

// freeBase returns a port base whose hundred ports are free. No two tests of this process get the same one.
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

// output is a buffer for concurrent use.
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
	return startConfigured(t, c, out)
}

func startConfigured(t *testing.T, c stack.Config, out *output) *started {
	t.Helper()
	dir := c.Settings.Dir
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- stack.Run(ctx, c) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	await.Nil(t, "endpoints.json", func() error {
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

// identities returns the child processes of a stack by name.
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

// writeBase prepares LAB_DIR for a separate supervisor and returns the program to run.
func writeBase(t *testing.T, dir, base string) (binary string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, baseFile), []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return binary
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
