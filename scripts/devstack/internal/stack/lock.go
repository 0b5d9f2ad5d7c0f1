package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// ErrRunning means that another devstack holds this LAB_DIR.
var ErrRunning = errors.New("the stack runs already")

// supervisor is the name of devstack's own pid file.
const supervisor = "devstack"

// marker is a file in a LAB_DIR that had no other files when the stack first used it. Reset deletes only such a folder
// as a whole.
const marker = ".devstack"

// ours returns the names of the entries of LAB_DIR that the project's tools create.
func ours() []string {
	return []string{
		marker,
		"run",
		"logs",
		"data",
		"objects",
		"secrets.json",
		endpoints.File,
		"bench",
		"test-results",
		"distributions",
	}
}

// foreignEntries returns the entries of LAB_DIR that the project's tools did not create.
func foreignEntries(s settings.Settings) ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !slices.Contains(ours(), entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func makeDirectory(s settings.Settings) error {
	if err := os.MkdirAll(s.Run(), 0o755); err != nil {
		return err
	}
	others, err := foreignEntries(s)
	if err != nil || len(others) > 0 {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, marker), nil, 0o600)
}

// takeDirectory creates LAB_DIR and locks it for this process. release unlocks it and removes the pid file.
func takeDirectory(s settings.Settings) (release func(), err error) {
	if err := makeDirectory(s); err != nil {
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

// tryLock returns ErrRunning when another process holds the lock. The kernel frees the lock when its holder dies.
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

// Running reports whether a devstack runs the stack of this LAB_DIR. It reads the pid file instead of trying the lock,
// because holding the lock even briefly could make a devstack that is just starting fail.
func Running(s settings.Settings) bool {
	id, known := process.Directory(s.Run()).Find(supervisor)
	return known && id.Alive()
}
