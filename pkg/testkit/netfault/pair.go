package netfault

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

const (
	chunkBytes  = 16 << 10
	chunksAhead = 64 // that may be under way while a link is slow
)

// pair is a connection of the program and the one to the engine that belongs to it.
type pair struct {
	near  *net.TCPConn
	ended context.Context // when the pair is reset
	end   context.CancelFunc

	mu  sync.Mutex
	far *net.TCPConn // guarded by mu; nil until the engine was reached
}

// chunk is what was read at once. The last one of a direction is empty: the sender ended it.
type chunk struct {
	data []byte
	due  time.Time
}

func (l *Link) carry(near net.Conn) {
	p := &pair{near: near.(*net.TCPConn)}
	p.ended, p.end = context.WithCancel(context.Background())
	if !l.add(p) {
		p.reset()
		return
	}
	defer p.close()
	defer l.remove(p)
	// A silent network does not let the engine know that someone wants to connect.
	if _, ok := l.await(p, requests); !ok {
		return
	}
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	far, err := (&net.Dialer{}).DialContext(p.ended, "tcp", target)
	if err != nil || !p.reached(far.(*net.TCPConn)) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.copy(p, requests, p.far, p.near) })
	both.Go(func() { l.copy(p, answers, p.near, p.far) })
	both.Wait()
}

// add returns false when the link is cut.
func (l *Link) add(p *pair) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.cut {
		return false
	}
	l.pairs[p] = struct{}{}
	return true
}

func (l *Link) remove(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, p)
}

// await returns once the direction is not silent; ok is false when the pair ended before.
func (l *Link) await(p *pair, direction int) (now weather, ok bool) {
	for {
		l.mu.Lock()
		now, changed := l.now, l.changed
		l.mu.Unlock()
		if !now.silent[direction] {
			return now, p.ended.Err() == nil
		}
		select {
		case <-p.ended.Done():
			return now, false
		case <-changed:
		}
	}
}

// copy carries one direction until its sender ends it or the pair is reset.
func (l *Link) copy(p *pair, direction int, to, from *net.TCPConn) {
	chunks := make(chan chunk, chunksAhead)
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { l.read(p, from, chunks) })
	for c := range chunks {
		now, ok := l.await(p, direction)
		if !ok || !p.pause(time.Until(c.due)) {
			p.reset()
			return
		}
		if len(c.data) == 0 {
			_ = to.CloseWrite()
			return
		}
		if !p.pause(now.takes(len(c.data))) {
			return
		}
		if _, err := to.Write(c.data); err != nil {
			p.reset() // a reader that went away learns of it, and so does the writer
			return
		}
	}
}

// read notes when each chunk is due at the other side.
func (l *Link) read(p *pair, from *net.TCPConn, chunks chan<- chunk) {
	defer close(chunks)
	for {
		data := make([]byte, chunkBytes)
		n, err := from.Read(data)
		due := time.Now().Add(l.latency())
		if n > 0 && !p.send(chunks, chunk{data[:n], due}) {
			return
		}
		if err != nil {
			p.send(chunks, chunk{nil, due})
			return
		}
	}
}

func (l *Link) latency() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now.latency
}

func (p *pair) send(chunks chan<- chunk, c chunk) bool {
	select {
	case chunks <- c:
		return true
	case <-p.ended.Done():
		return false
	}
}

// takes is how long the bytes occupy a link of limited bandwidth.
func (w weather) takes(bytes int) time.Duration {
	if w.bytesPerSecond == 0 {
		return 0
	}
	return time.Duration(bytes) * time.Second / time.Duration(w.bytesPerSecond)
}

func (p *pair) pause(d time.Duration) bool {
	if d <= 0 {
		return p.ended.Err() == nil
	}
	return lifecycle.Pause(p.ended, d) == nil
}

// reached notes the connection to the engine. It returns false, and ends it, when the pair ended meanwhile.
func (p *pair) reached(far *net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.far = far
	if p.ended.Err() != nil {
		_ = far.Close()
		return false
	}
	return true
}

// reset ends both connections without a farewell, and forgets what they have not delivered.
func (p *pair) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	for _, conn := range []*net.TCPConn{p.near, p.far} {
		if conn != nil {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
	}
}

// close ends both connections after what they carry.
func (p *pair) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	_ = p.near.Close()
	if p.far != nil {
		_ = p.far.Close()
	}
}
