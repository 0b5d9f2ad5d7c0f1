package process

import (
	"os/exec"
	"syscall"
)

// Tie makes a short-lived helper, e.g. a compiler, end with everything that it started when its context ends,
// and when this process is killed. Ctrl-C does not reach it from the terminal.
func Tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
