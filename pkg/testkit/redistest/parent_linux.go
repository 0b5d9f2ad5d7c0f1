package redistest

import "syscall"

// dieWithParent makes the kernel kill the server when the test binary is killed before its cleanup runs.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
