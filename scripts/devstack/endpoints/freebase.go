package endpoints

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// Range of the bases: below the ports that kernels assign to outgoing connections.
const (
	firstBase = 21000
	lastBase  = 31900
	portsUsed = 100
)

// FreeBase returns a value for LAB_PORT_BASE whose hundred ports are unused now, for stacks of tests and benchmarks.
// The base is reserved until this process ends, even before anything listens.
func FreeBase() (int, error) {
	for base := firstBase; base <= lastBase; base += portsUsed {
		release, ours := reserve(base)
		if !ours {
			continue
		}
		if free(base) {
			return base, nil
		}
		release()
	}
	return 0, errors.New("no hundred free ports in a row are left on this machine")
}

// reserve locks a file for the base. The lock ends with the process: the descriptor is a bare number, which nothing
// closes.
func reserve(base int) (release func(), ours bool) {
	file := filepath.Join(os.TempDir(), fmt.Sprintf("labstack-%d-%d.lock", os.Getuid(), base))
	descriptor, err := syscall.Open(file, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, false
	}
	release = func() { _ = syscall.Close(descriptor) }
	if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		release()
		return nil, false
	}
	return release, true
}

func free(base int) bool {
	for port := base; port < base+portsUsed; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}
