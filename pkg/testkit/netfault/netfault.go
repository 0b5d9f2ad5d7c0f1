// Package netfault simulates network faults between a test's program and an engine. It is a TCP proxy that forwards
// everything until the test makes it behave like a network when a node loses power, a machine freezes or packets are
// dropped.
//
// kill -9 sends FIN and is detected at once. Silence simulates a lost node: neither side receives anything, not even
// the end of the connection.
package netfault

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Link forwards connections to one engine. It is safe for concurrent use. Faults apply to existing and new connections.
type Link struct {
	listener net.Listener
	running  sync.WaitGroup
	patience time.Duration // see CloseIdle

	mu      sync.Mutex
	target  string             // guarded by mu
	now     faults             // guarded by mu
	changed chan struct{}      // guarded by mu; closed and replaced when now changes
	pairs   map[*pair]struct{} // guarded by mu
}

// faults is the current behaviour of the link.
type faults struct {
	cut            bool
	closed         bool
	silent         [2]bool // by direction
	latency        time.Duration
	bytesPerSecond int // 0: no limit
}

// The directions of a connection.
const (
	requests = iota // from the program to the engine
	responses
)

// New returns a link to target (host:port) that is closed when t ends.
func New(t testing.TB, target string) *Link {
	t.Helper()
	l, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	l.Serve(target)
	t.Cleanup(l.Close)
	return l
}

// Listen returns a link without an engine: connections wait until Serve is called. The caller must close it.
func Listen() (*Link, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Link{listener: listener, changed: make(chan struct{}), pairs: map[*pair]struct{}{}}, nil
}

// Serve starts to forward connections to target. It must be called only once.
func (l *Link) Serve(target string) {
	l.setTarget(target)
	l.running.Go(func() {
		for {
			near, err := l.listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.forward(near) })
		}
	})
}

// CloseIdle makes the link close connections without traffic for the given time, as servers, brokers and firewalls do
// after minutes or hours. It must be called before Serve.
func (l *Link) CloseIdle(after time.Duration) { l.patience = after }

// Connections returns the number of connections that are open.
func (l *Link) Connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pairs)
}

// Move changes the target, like an address that moves to another machine. Existing connections are reset.
func (l *Link) Move(target string) {
	l.setTarget(target)
	l.resetAll()
}

func (l *Link) setTarget(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// Addr returns the address that the program uses instead of the engine's.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Port returns the port of Addr; the host is 127.0.0.1.
func (l *Link) Port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// Restore removes all faults. Data that a silent link has held back is delivered now, as after a cable is plugged in
// again.
func (l *Link) Restore() { l.change(faults{}) }

// Silence forwards nothing in either direction, not even the end of a connection. New connections are accepted and get
// no response.
func (l *Link) Silence() { l.change(faults{silent: [2]bool{true, true}}) }

// SilenceResponses makes connections half-open: the engine receives what the program sends, but the program receives
// nothing.
func (l *Link) SilenceResponses() { l.change(faults{silent: [2]bool{responses: true}}) }

// SilenceRequests makes connections half-open the other way: the program receives what the engine sends, but the engine
// receives nothing.
func (l *Link) SilenceRequests() { l.change(faults{silent: [2]bool{requests: true}}) }

// Slow delays everything by latency in each direction, and forwards at most bytesPerSecond per connection and
// direction; 0 means no limit.
func (l *Link) Slow(latency time.Duration, bytesPerSecond int) {
	l.change(faults{latency: latency, bytesPerSecond: bytesPerSecond})
}

// Cut resets every connection immediately. New connections are reset at once.
func (l *Link) Cut() {
	l.change(faults{cut: true})
	l.resetAll()
}

// Close resets every connection and closes the link.
func (l *Link) Close() {
	_ = l.listener.Close()
	l.change(faults{cut: true, closed: true})
	l.resetAll()
	l.running.Wait()
}

func (l *Link) change(to faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.closed {
		return
	}
	l.now = to
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Link) resetAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		p.reset()
	}
}
