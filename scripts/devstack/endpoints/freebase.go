package endpoints

import (
	"errors"
	"fmt"
	"net"
)

// Where bases are looked for: below the range that kernels hand out to outgoing connections.
const (
	firstBase = 21000
	lastBase  = 31900
	portsUsed = 100
)

// FreeBase returns a value for LAB_PORT_BASE whose hundred ports nothing listens on now, for stacks of tests and
// benchmarks.
func FreeBase() (int, error) {
	for base := firstBase; base <= lastBase; base += portsUsed {
		if free(base) {
			return base, nil
		}
	}
	return 0, errors.New("no hundred free ports in a row are left on this machine")
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
