package indexsync

import (
	"context"
	"sync"
)

// limiter bounds the requests under way. A busy server halves the bound, each answer without trouble raises it by a
// little: as many requests as the bound raise it by one.
type limiter struct {
	most float64

	mu      sync.Mutex
	bound   float64       // guarded by mu; between 1 and most
	running int           // guarded by mu
	changed chan struct{} // guarded by mu; closed and replaced when there may be room
}

func newLimiter(most int) *limiter {
	return &limiter{most: float64(most), bound: float64(most), changed: make(chan struct{})}
}

// enter waits for room. The caller leaves.
func (l *limiter) enter(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.running < int(l.bound) {
			l.running++
			l.mu.Unlock()
			return nil
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// leave makes room and learns whether the server was busy.
func (l *limiter) leave(busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if busy {
		l.bound = max(1, l.bound/2)
	} else {
		l.bound = min(l.most, l.bound+1/l.bound)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}
