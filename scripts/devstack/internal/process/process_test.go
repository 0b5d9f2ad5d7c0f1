package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// sleeper starts a process that is not a child of a Spawner.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestARecycledPidIsNeverKilled(t *testing.T) {
	t.Parallel()
	cmd := sleeper(t)
	real, err := process.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, recorded := range map[string]process.Identity{
		"started at another time": {PID: real.PID, StartTicks: real.StartTicks - 1, BootID: real.BootID},
		"before the last boot":    {PID: real.PID, StartTicks: real.StartTicks, BootID: "another boot"},
		"no pid":                  {BootID: real.BootID},
		"a negative pid":          {PID: -1, BootID: real.BootID},
	} {
		if recorded.Alive() {
			t.Errorf("%s: taken for the running process", name)
		}
		process.StopStranger(recorded, time.Second)
	}
	if !real.Alive() {
		t.Fatal("the process that has the pid now was killed")
	}
}

func TestAZombieIsNotAlive(t *testing.T) {
	t.Parallel()
	cmd := sleeper(t)
	id, err := process.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil { // a zombie from here on
		t.Fatal(err)
	}
	await.True(t, "the end of a killed process that no one reaped", func() bool { return !id.Alive() })
}

func TestPidFilesFindOnlyTheLiving(t *testing.T) {
	t.Parallel()
	pids := process.Directory(t.TempDir())
	cmd := sleeper(t)
	if err := pids.Write("living", cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"broken": "12", "gone": `{"pid":4194300,"start_ticks":1,"boot_id":"x"}`, "empty": ""} {
		if err := os.WriteFile(filepath.Join(string(pids), name+".pid"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alive := pids.Alive()
	if len(alive) != 1 || alive["living"].PID != cmd.Process.Pid {
		t.Fatalf("alive = %v, want living only", alive)
	}
	pids.Remove("living")
	if len(pids.Alive()) != 0 {
		t.Fatal("a removed pid file is still found")
	}
}

// start runs a shell command as a child.
func start(t *testing.T, script string) *process.Child {
	t.Helper()
	dir := t.TempDir()
	spawner := process.NewSpawner(process.Directory(dir))
	child, err := spawner.Start(process.Spec{Name: "child", Command: []string{"/bin/sh", "-c", script}, LogFile: filepath.Join(dir, "child.log"),
		Env: []string{"GREETING=hello"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(0); spawner.Close() })
	return child
}

func TestStopKillsAChildThatIgnoresSIGTERMWithItsChildren(t *testing.T) {
	t.Parallel()
	child := start(t, `trap '' TERM; sleep 300 & echo $! ; wait`)
	var grandchild int
	err := process.Await(t.Context(), child, func(context.Context) error {
		_, err := fmt.Sscan(child.LogTail(1), &grandchild)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := process.Identify(grandchild)
	if err != nil {
		t.Fatal(err)
	}
	child.Stop(50 * time.Millisecond)
	if child.How() != "signal: killed" {
		t.Errorf("the child ended by %s", child.How())
	}
	await.True(t, "the end of the child's own child", func() bool { return !id.Alive() })
}

func TestAwaitShowsTheLogOfAChildThatEnds(t *testing.T) {
	t.Parallel()
	child := start(t, `echo "$GREETING: cannot bind"; exit 4`)
	err := process.Await(t.Context(), child, func(context.Context) error { return errors.New("not ready") })
	if err == nil || !strings.Contains(err.Error(), "hello: cannot bind") || !strings.Contains(err.Error(), "exit status 4") {
		t.Fatalf("error = %v", err)
	}
}

// listenBelowEphemeral listens on a port below the kernel's range for outgoing connections, so that no other process
// gets the port once it is closed. It returns nil if the host cannot be bound.
func listenBelowEphemeral(t *testing.T, host string) net.Listener {
	t.Helper()
	for port := 20100; port < 20400; port++ {
		if listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return listener
		}
	}
	return nil
}

// Not parallel: between fork and exec a child of another test holds the listener, so the port would stay in use briefly
// after it was closed.
func TestAPortInUseIsNamedWithItsOwner(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "::"} {
		listener := listenBelowEphemeral(t, host)
		if listener == nil {
			t.Logf("%s cannot be bound here", host)
			continue
		}
		addr := listener.Addr().String()
		port := listener.Addr().(*net.TCPAddr).Port
		err := process.RequireFreePort(t.Context(), port, "gateway")
		want := fmt.Sprintf("port %d (gateway) is in use by process %d", port, os.Getpid())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", addr, err, want)
		}
		listener.Close()
		if err := process.RequireFreePort(t.Context(), port, "gateway"); err != nil {
			t.Errorf("%s: after closing: %v", addr, err)
		}
	}
}

func TestALogThatGrewTooLargeIsSetAsideUnderItsWriter(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "engine.log")
	log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, text := range []string{"12345678", "9", "abc"} {
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := process.BoundLog(file, 8); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{file: "abc", file + ".1": "123456789"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q, want %q (%v)", filepath.Base(name), got, want, err)
		}
	}
	if err := process.BoundLog(file+".absent", 8); err != nil {
		t.Error(err)
	}
}
