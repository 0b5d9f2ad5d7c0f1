// Package freeport returns ports for the servers of tests.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// The range of ports is below the kernel's range for outgoing connections, of which tests make many, and below the
// ports of whole stacks (scripts/devstack/endpoints).
const (
	firstPort = 11_000
	lastPort  = 20_999
)

// lastTried increases from port to port, so that a process never gets a port twice. It starts at a random port, so that
// two processes rarely collide.
var lastTried = randomStart()

func randomStart() *atomic.Int64 {
	var port atomic.Int64
	port.Store(rand.Int64N(lastPort - firstPort))
	return &port
}

// Some returns different ports of 127.0.0.1 on which no server was listening a moment ago.
func Some(t testing.TB, count int) []int {
	t.Helper()
	ports := make([]int, 0, count)
	for tried := 0; len(ports) < count; tried++ {
		if tried > lastPort-firstPort {
			t.Fatalf("free ports found = %d, want %d", len(ports), count)
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

// One returns a port of 127.0.0.1 on which no server was listening a moment ago.
func One(t testing.TB) int {
	t.Helper()
	return Some(t, 1)[0]
}
