package redistest

import (
	"os/exec"
	"runtime"
)

// process is a child whose forking thread stays with it: the kernel's "die with your parent" watches the thread,
// and a thread that other code locks and lets go would take the server with it.
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

// kill ends the process with SIGKILL and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}
