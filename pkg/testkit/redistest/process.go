package redistest

import (
	"os/exec"
	"runtime"
)

// process is a child process whose forking thread stays locked: the kernel's parent-death signal is tied to the thread
// that forked, and fires when that thread ends.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return p, <-started
}

// kill ends the process with SIGKILL and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}
