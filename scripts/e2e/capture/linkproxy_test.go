package capture

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// linkProxy is a network link that can be cut.
type linkProxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	down  bool                  // guarded by mu
	conns map[net.Conn]struct{} // guarded by mu
}

func newLinkProxy(t *testing.T, target string) *linkProxy {
	t.Helper()
	p, err := listenLink()
	if err != nil {
		t.Fatal(err)
	}
	p.serve(target)
	t.Cleanup(p.close)
	return p
}

// listenLink makes a link whose other end is not known yet: it carries nothing before serve.
func listenLink() (*linkProxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &linkProxy{listener: listener, conns: map[net.Conn]struct{}{}}, nil
}

func (p *linkProxy) close() {
	_ = p.listener.Close()
	p.cut()
}

func (p *linkProxy) addr() string { return p.listener.Addr().String() }

func (p *linkProxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *linkProxy) serve(target string) {
	p.target = target
	go func() {
		for {
			conn, err := p.listener.Accept()
			if err != nil {
				return
			}
			go p.link(conn)
		}
	}()
}

func (p *linkProxy) link(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer far.Close()
	if !p.track(near, far) {
		return
	}
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
}

func (p *linkProxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return false
	}
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return true
}

// cut resets every connection in the middle of whatever it carries. New ones fail until mend.
func (p *linkProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *linkProxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}
