// Package counterpart runs the programs that `make test-counterparts` downloads: a real mail server and a real proxy.
package counterpart

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// Command returns a command for the program, not started yet. It skips the test if the programs were not downloaded.
func Command(t testing.TB, program string, args ...string) *exec.Cmd {
	t.Helper()
	folder := os.Getenv("LAB_COUNTERPARTS")
	if folder == "" {
		t.Skip("LAB_COUNTERPARTS does not name the programs: run make test-counterparts")
	}
	return exec.CommandContext(t.Context(), filepath.Join(folder, program), args...)
}

// Start starts a server and waits until it listens on address. The server stops at the end of the test. If the test has
// failed, its output is logged.
func Start(t testing.TB, cmd *exec.Cmd, address string) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	await.Nil(t, filepath.Base(cmd.Path), func() error {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}
