package process

import (
	"os/exec"
	"syscall"
)

// DieWithParent prepares a short-lived command, such as a compiler: the command and its children end when its context
// ends or this process dies. Ctrl-C in the terminal does not reach it.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
