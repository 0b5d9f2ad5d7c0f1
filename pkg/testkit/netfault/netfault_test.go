package netfault_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

const (
	soon = 100 * time.Millisecond // wait for data that must not arrive
	late = 20 * time.Second       // maximum wait for data that must arrive
)

// engine responds to each line with "you said: …" until hangUp; heard receives the lines.
type engine struct {
	address  string
	received chan string
	hangUp   chan struct{} // closes the current connections on the engine's side
}

func startEngine(t *testing.T) *engine {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	e := &engine{address: listener.Addr().String(), received: make(chan string, 16), hangUp: make(chan struct{})}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go e.respond(conn)
		}
	}()
	return e
}

func (e *engine) respond(conn net.Conn) {
	defer conn.Close()
	go func() {
		<-e.hangUp
		_ = conn.Close()
	}()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		e.received <- lines.Text()
		_, _ = io.WriteString(conn, "you said: "+lines.Text()+"\n")
	}
	e.received <- "end"
}

// caller is the program's side of a connection.
type caller struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func call(t *testing.T, l *netfault.Link) *caller {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: late}).DialContext(t.Context(), "tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &caller{t, conn, bufio.NewReader(conn)}
}

func (c *caller) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// hear returns the next line, "silence" if none arrived in time, or "end" if the connection ended.
func (c *caller) hear(within time.Duration) string {
	c.t.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.in.ReadString('\n')
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "silence"
	case err != nil:
		return "end"
	}
	return strings.TrimSpace(line)
}

func (c *caller) expect(within time.Duration, want string) {
	c.t.Helper()
	if got := c.hear(within); got != want {
		c.t.Fatalf("caller received %q, want %q", got, want)
	}
}

func (e *engine) expect(t *testing.T, within time.Duration, want string) {
	t.Helper()
	got := "silence"
	select {
	case got = <-e.received:
	case <-time.After(within):
	}
	if got != want {
		t.Fatalf("engine received %q, want %q", got, want)
	}
}

func TestSilentLinkForwardsNothing(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	l := netfault.New(t, e.address)
	old := call(t, l)
	old.say("one")
	e.expect(t, late, "one")
	old.expect(late, "you said: one")

	l.Silence()
	old.say("two")
	fresh := call(t, l) // the link accepts the connection
	fresh.say("three")
	e.expect(t, soon, "silence")
	old.expect(soon, "silence")
	fresh.expect(soon, "silence")

	l.Restore()
	old.expect(late, "you said: two")
	fresh.expect(late, "you said: three")
}

func TestSilentLinkDoesNotForwardTheEndOfAConnection(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	l := netfault.New(t, e.address)
	first, second := call(t, l), call(t, l)
	first.say("one")
	second.say("two")
	first.expect(late, "you said: one")
	second.expect(late, "you said: two")
	<-e.received
	<-e.received
	l.Silence()
	_ = first.conn.Close()
	e.expect(t, soon, "silence")
	close(e.hangUp)
	e.expect(t, late, "end") // the engine's own side ends
	e.expect(t, late, "end")
	second.expect(soon, "silence")
	l.Restore()
	second.expect(late, "end")
}

func TestHalfOpenLinkForwardsOneDirection(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	l := netfault.New(t, e.address)
	c := call(t, l)
	c.say("one")
	e.expect(t, late, "one")
	c.expect(late, "you said: one")

	l.SilenceResponses()
	c.say("two")
	e.expect(t, late, "two")
	c.expect(soon, "silence")

	l.SilenceRequests()
	c.expect(late, "you said: two")
	c.say("three")
	e.expect(t, soon, "silence")

	l.Restore()
	e.expect(t, late, "three")
	c.expect(late, "you said: three")
}

func TestCutLinkResetsConnectionsUntilItIsRestored(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	l := netfault.New(t, e.address)
	c := call(t, l)
	c.say("one")
	c.expect(late, "you said: one")
	l.Cut()
	c.expect(late, "end")
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr()); err == nil {
		(&caller{t, conn, bufio.NewReader(conn)}).expect(late, "end")
		_ = conn.Close()
	}
	l.Restore()
	fresh := call(t, l)
	fresh.say("two")
	fresh.expect(late, "you said: two")
}

func TestSlowLinkDelaysData(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	l := netfault.New(t, e.address)
	c := call(t, l)
	const latency = 60 * time.Millisecond
	l.Slow(latency, 0)
	begin := time.Now()
	c.say("one")
	c.expect(late, "you said: one")
	if took := time.Since(begin); took < 2*latency {
		t.Errorf("round trip took %v with a latency of %v, want at least twice the latency", took, latency)
	}
	l.Slow(0, 1000)
	begin = time.Now()
	c.say(strings.Repeat("x", 99))
	c.expect(late, "you said: "+strings.Repeat("x", 99))
	if took := time.Since(begin); took < 210*time.Millisecond {
		t.Errorf("100 bytes there and 110 back took %v at 1000 bytes per second, want at least 210ms", took)
	}
}

func TestDataSentBeforeTheEndArrives(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	l := netfault.New(t, e.address)
	c := call(t, l)
	c.say("one")
	c.say("two")
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.expect(late, "you said: one")
	c.expect(late, "you said: two")
	c.expect(late, "end")
}

func TestConnectionsWaitUntilServe(t *testing.T) {
	t.Parallel()
	l, err := netfault.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := call(t, l)
	c.say("one")
	c.expect(soon, "silence")
	e := startEngine(t)
	l.Serve(e.address)
	c.expect(late, "you said: one")
}

func TestConnectionToAnUnreachableEngineIsClosed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = listener.Close()
	call(t, netfault.New(t, listener.Addr().String())).expect(late, "end")
}

func TestMoveResetsConnectionsAndChangesTheTarget(t *testing.T) {
	t.Parallel()
	previous, next := startEngine(t), startEngine(t)
	l := netfault.New(t, previous.address)
	c := call(t, l)
	c.say("one")
	c.expect(late, "you said: one")
	previous.expect(t, late, "one")
	l.Move(next.address)
	c.expect(late, "end")
	c = call(t, l)
	c.say("two")
	c.expect(late, "you said: two")
	next.expect(t, late, "two")
}

func TestOnlyIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	l, err := netfault.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	const patience = time.Second
	l.CloseIdle(patience)
	e := startEngine(t)
	l.Serve(e.address)
	go func() {
		for t.Context().Err() == nil {
			select {
			case <-e.received:
			case <-t.Context().Done():
			}
		}
	}()
	idle, busy := call(t, l), call(t, l)
	for begin := time.Now(); time.Since(begin) < 2*patience; {
		busy.say("one")
		busy.expect(late, "you said: one")
	}
	idle.expect(soon, "end")
	busy.say("two")
	busy.expect(late, "you said: two")
	if open := l.Connections(); open != 1 {
		t.Errorf("%d connections are open, want that which is used", open)
	}
}
