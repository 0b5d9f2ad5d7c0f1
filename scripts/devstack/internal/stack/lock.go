package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// ErrRunning means that another devstack holds this LAB_DIR.
var ErrRunning = errors.New("the stack runs already")

// supervisor is the name of devstack's own pid file.
const supervisor = "devstack"

// marker tells a directory of ours from any other, before reset deletes it.
const marker = ".devstack"

// takeDirectory makes LAB_DIR and locks it for this process; release also forgets the pid.
func takeDirectory(s settings.Settings) (release func(), err error) {
	if err := os.MkdirAll(s.Run(), 0o755); err != nil {
		return nil, fmt.Errorf("make LAB_DIR: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, marker), nil, 0o644); err != nil {
		return nil, fmt.Errorf("make LAB_DIR: %w", err)
	}
	lock, err := tryLock(s)
	if err != nil {
		return nil, err
	}
	pids := process.Directory(s.Run())
	if err := pids.Write(supervisor, os.Getpid()); err != nil {
		lock.Close()
		return nil, err
	}
	return func() { pids.Remove(supervisor); lock.Close() }, nil
}

// tryLock answers ErrRunning when another process holds the lock. The kernel frees it when its holder dies.
func tryLock(s settings.Settings) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(s.Run(), "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock LAB_DIR: %w", err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return lock, nil
	}
	lock.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrRunning
	}
	return nil, fmt.Errorf("lock LAB_DIR: %w", err)
}

// Running reports whether a devstack holds this LAB_DIR.
func Running(s settings.Settings) bool {
	if _, err := os.Stat(s.Run()); err != nil {
		return false
	}
	lock, err := tryLock(s)
	if err != nil {
		return errors.Is(err, ErrRunning)
	}
	lock.Close()
	return false
}
