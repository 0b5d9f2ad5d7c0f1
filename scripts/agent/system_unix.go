//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// lockFile opens the file and locks it until the file, and the copies that child processes inherit, are closed. It
// returns errBusy while another process has the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return file, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errBusy
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOTSUP):
		err = errors.ErrUnsupported
	}
	return nil, errors.Join(err, file.Close())
}

type group struct{ leader int }

func newFamily() family { return &group{} }

// prepare makes the program the leader of a process group and passes the lock to it.
func (g *group) prepare(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{lock}
}

func (g *group) started(p *os.Process) error {
	g.leader = p.Pid
	return nil
}

func (g *group) end() error {
	if g.leader == 0 {
		return nil
	}
	if err := syscall.Kill(-g.leader, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// stopSignals end the agent like Ctrl-C, also when the terminal closes.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
