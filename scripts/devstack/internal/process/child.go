package process

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Child is a process that this devstack started. It is reaped as soon as it ends, so that no zombie remains.
type Child struct {
	Spec
	PID   int
	ended chan struct{}
	state *os.ProcessState // set before ended is closed
}

func newChild(spec Spec, cmd *exec.Cmd) *Child {
	c := &Child{Spec: spec, PID: cmd.Process.Pid, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		c.state = cmd.ProcessState
		close(c.ended)
	}()
	return c
}

// Ended is closed when the process has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Running reports whether the process is still running.
func (c *Child) Running() bool {
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// How waits until the process has ended and returns how it ended, such as "exit status 1" or "signal: killed".
func (c *Child) How() string {
	<-c.ended
	return c.state.String()
}

// Stop sends SIGTERM, waits up to grace for the process to end, and then kills its process group.
func (c *Child) Stop(grace time.Duration) {
	if !c.Running() {
		return
	}
	_ = syscall.Kill(c.PID, syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(grace):
	}
	if c.Running() {
		_ = syscall.Kill(-c.PID, syscall.SIGKILL)
		<-c.ended
	}
}

// LogTail returns the last lines of the child's log for an error message.
func (c *Child) LogTail(lines int) string { return tail(c.LogFile, lines) }

func tail(file string, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// StopStranger ends a process that an earlier devstack started: SIGTERM, then after grace SIGKILL to its group. It does
// nothing when that process has ended, even when another one has the pid now.
func StopStranger(id Identity, grace time.Duration) {
	if !id.Alive() {
		return
	}
	_ = syscall.Kill(id.PID, syscall.SIGTERM)
	if awaitEnd(id, grace) {
		return
	}
	_ = syscall.Kill(-id.PID, syscall.SIGKILL)
	_ = syscall.Kill(id.PID, syscall.SIGKILL)
	awaitEnd(id, 5*time.Second)
}

func awaitEnd(id Identity, limit time.Duration) bool {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		if !id.Alive() {
			return true
		}
		<-ticker.C
	}
	return !id.Alive()
}

// StopAll stops the children in parallel and returns when all have ended.
func StopAll(children []*Child, grace time.Duration) {
	var group sync.WaitGroup
	for _, child := range children {
		group.Go(func() { child.Stop(grace) })
	}
	group.Wait()
}
