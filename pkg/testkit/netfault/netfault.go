// Package netfault owns the network between a test's program and an engine: a TCP proxy that passes everything until
// the test tells it to misbehave as networks do when a node loses power, a machine freezes or packets are dropped.
//
// kill -9 sends FIN and is noticed at once. Silence is what a lost node looks like: no one hears anything, and no one
// is told that the other side is gone.
package netfault

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Link carries connections to one engine. Its methods may be called from several goroutines; what they change holds for
// the connections that exist and for new ones.
type Link struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	target  string             // guarded by mu
	now     weather            // guarded by mu
	changed chan struct{}      // guarded by mu; closed and replaced at every change of now
	pairs   map[*pair]struct{} // guarded by mu
}

// weather is how the link behaves at the moment.
type weather struct {
	cut            bool
	closed         bool
	silent         [2]bool // by direction
	latency        time.Duration
	bytesPerSecond int // 0: as fast as it goes
}

// The directions of a connection.
const (
	requests = iota // from the program to the engine
	answers
)

// New returns a link to target, host:port, which is closed at the end of t.
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

// Listen returns a link whose engine is not known yet: connections wait until Serve. The caller closes it.
func Listen() (*Link, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Link{listener: listener, changed: make(chan struct{}), pairs: map[*pair]struct{}{}}, nil
}

// Serve carries connections to target. It is called once.
func (l *Link) Serve(target string) {
	l.lead(target)
	l.running.Go(func() {
		for {
			near, err := l.listener.Accept()
			if err != nil {
				return
			}
			l.running.Go(func() { l.carry(near) })
		}
	})
}

// Move leads to another engine from now on, as an address that moves to another machine. Connections are reset.
func (l *Link) Move(target string) {
	l.lead(target)
	l.resetAll()
}

func (l *Link) lead(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// Addr is the address that the program is given instead of the engine's.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Port is the port of Addr; the host is 127.0.0.1.
func (l *Link) Port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// Pass makes everything go through again. What a silent link held back arrives now, as after a cable was plugged in.
func (l *Link) Pass() { l.change(weather{}) }

// Silence carries nothing in either direction, the end of a connection included. New connections are accepted, and
// no one answers on them.
func (l *Link) Silence() { l.change(weather{silent: [2]bool{true, true}}) }

// SilenceAnswers makes connections half-open: what the program sends arrives, and it hears nothing.
func (l *Link) SilenceAnswers() { l.change(weather{silent: [2]bool{answers: true}}) }

// SilenceRequests makes connections half-open the other way: the engine hears nothing, what it sends arrives.
func (l *Link) SilenceRequests() { l.change(weather{silent: [2]bool{requests: true}}) }

// Slow delays everything by latency in each direction, and carries at most bytesPerSecond per connection and direction;
// 0 sets no limit.
func (l *Link) Slow(latency time.Duration, bytesPerSecond int) {
	l.change(weather{latency: latency, bytesPerSecond: bytesPerSecond})
}

// Cut resets every connection in the middle of whatever it carries. New ones are reset at once.
func (l *Link) Cut() {
	l.change(weather{cut: true})
	l.resetAll()
}

// Close resets every connection and ends the link.
func (l *Link) Close() {
	_ = l.listener.Close()
	l.change(weather{cut: true, closed: true})
	l.resetAll()
	l.running.Wait()
}

func (l *Link) change(to weather) {
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
