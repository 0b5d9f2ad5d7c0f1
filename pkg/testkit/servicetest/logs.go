package servicetest

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// Logs keeps what a service writes, for several goroutines at once. Its zero value is ready.
type Logs struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

// Write implements io.Writer.
func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything that was written so far.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// FreePorts returns ports of 127.0.0.1, all different, on which nobody listened a moment ago.
func FreePorts(t testing.TB, count int) []int {
	t.Helper()
	ports := make([]int, count)
	for i := range ports {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("find a free port: %v", err)
		}
		defer listener.Close() // when all are found
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// FreePort is FreePorts for one.
func FreePort(t testing.TB) int {
	t.Helper()
	return FreePorts(t, 1)[0]
}
