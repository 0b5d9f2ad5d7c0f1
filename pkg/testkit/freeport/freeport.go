// Package freeport owns the ports that tests give to servers.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// Where ports are looked for: below the range that kernels hand out to outgoing connections, of which a test makes
// many, and below the ports of whole stacks (scripts/devstack/endpoints).
const (
	firstPort = 11_000
	lastPort  = 20_999
)

// lastTried continues from port to port, so that a process never gets one twice, and begins anywhere, so that two
// processes hardly ever meet.
var lastTried = anywhere()

func anywhere() *atomic.Int64 {
	var port atomic.Int64
	port.Store(rand.Int64N(lastPort - firstPort))
	return &port
}

// Some returns ports of 127.0.0.1, all different, on which no one listened a moment ago.
func Some(t testing.TB, count int) []int {
	t.Helper()
	ports := make([]int, 0, count)
	for tried := 0; len(ports) < count; tried++ {
		if tried > lastPort-firstPort {
			t.Fatalf("%d of %d free ports are left on this machine", len(ports), count)
		}
		port := firstPort + int(lastTried.Add(1))%(lastPort-firstPort+1)
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		_ = listener.Close()
		ports = append(ports, port)
	}
	return ports
}

// One is Some for one.
func One(t testing.TB) int {
	t.Helper()
	return Some(t, 1)[0]
}
