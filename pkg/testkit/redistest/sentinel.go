package redistest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// MasterName is the sentinel's name of the server that it watches.
const MasterName = "mymaster"

// StartSentinel starts a sentinel that runs until t ends, and returns its address. The sentinel discovers master's
// connected replicas at once, and promotes one of them half a second after master's death.
func StartSentinel(t testing.TB, master *Server) string {
	t.Helper()
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	var problem error
	for range startAttempts {
		addr := freeAddr(t)
		if problem = launchSentinel(t, addr, host, port); problem == nil {
			return addr
		}
	}
	t.Fatalf("the sentinel does not start: %v", problem)
	return ""
}

func launchSentinel(t testing.TB, addr, masterHost, masterPort string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	file := filepath.Join(t.TempDir(), "sentinel.conf") // the sentinel stores its state in this file
	settings := fmt.Sprintf("bind %s\nport %s\ndir %s\nsentinel monitor %s %s %s 1\n"+
		"sentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 3000\n",
		host, port, filepath.Dir(file), MasterName, masterHost, masterPort, MasterName, MasterName)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return err
	}
	output := &bytes.Buffer{}
	cmd := exec.CommandContext(context.Background(), "redis-server", file, "--sentinel")
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = dieWithParent()
	running, err := start(cmd)
	if err != nil {
		return err
	}
	if err := awaitReady(addr, cmd.Process.Pid); err != nil {
		running.kill()
		return fmt.Errorf("%w\n%s", err, output.String())
	}
	t.Cleanup(running.kill)
	return nil
}
