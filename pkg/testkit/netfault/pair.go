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
	chunksAhead = 64 // maximum chunks in transit while the link is slow
)

// pair is a connection of the program (near) and the one to the engine (far).
type pair struct {
	near  *net.TCPConn
	ended context.Context // ends when the pair is reset
	end   context.CancelFunc
	idle  *time.Timer // closes the pair after idle time; nil: never

	mu  sync.Mutex
	far *net.TCPConn // guarded by mu; nil until the engine is connected
}

// chunk is the data of one read. The last chunk of a direction is empty: the sender has closed it.
type chunk struct {
	data []byte
	due  time.Time
}

func (l *Link) forward(near net.Conn) {
	p := &pair{near: near.(*net.TCPConn)}
	p.ended, p.end = context.WithCancel(context.Background())
	if !l.add(p) {
		p.reset()
		return
	}
	defer p.close()
	defer l.remove(p)
	// On a silent network the engine does not see the connection attempt.
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
	if l.patience > 0 {
		p.idle = time.AfterFunc(l.patience, p.close)
		defer p.idle.Stop()
	}
	var both sync.WaitGroup
	both.Go(func() { l.copy(p, requests, p.far, p.near) })
	both.Go(func() { l.copy(p, responses, p.near, p.far) })
	both.Wait()
}

// add adds p to the link's connections; it returns false if the link is cut.
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

// await returns once the direction is not silent; ok is false if the pair has ended.
func (l *Link) await(p *pair, direction int) (now faults, ok bool) {
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

// copy forwards one direction until its sender closes it or the pair is reset.
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
			p.reset() // the reader has disconnected; the writer must notice
			return
		}
	}
}

// read reads chunks and sets the time at which each is due on the other side.
func (l *Link) read(p *pair, from *net.TCPConn, chunks chan<- chunk) {
	defer close(chunks)
	for {
		data := make([]byte, chunkBytes)
		n, err := from.Read(data)
		due := time.Now().Add(l.latency())
		if p.idle != nil {
			p.idle.Reset(l.patience)
		}
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

// takes returns the time that the bytes occupy a link of limited bandwidth.
func (w faults) takes(bytes int) time.Duration {
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

// reached stores the connection to the engine. It returns false, and closes it, if the pair has ended.
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

// reset closes both connections without FIN and discards undelivered data.
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

// close closes both connections after delivering their data.
func (p *pair) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	_ = p.near.Close()
	if p.far != nil {
		_ = p.far.Close()
	}
}
