// Package coalesce lets callers who ask for the same at the same time share one read. What is read costs the same for
// one caller as for fifty, so a busy moment makes no queue: at most one read of a key is under way.
//
// No one gets what was read before they asked: a read that is under way may miss what its new caller has just written,
// so the caller shares the next one. Nothing is kept after that.
package coalesce

import (
	"context"
	"sync"
)

// Reads shares reads of values V, by key. Callers of one key may want different items of it. The zero Reads is ready;
// its methods may be called from several goroutines.
type Reads[K comparable, I, V any] struct {
	mu   sync.Mutex
	keys map[K]*line[I, V] // guarded by mu; a key is there while it is read
}

// Read reads what items callers have asked for.
type Read[I, V any] func(ctx context.Context, items []I) (V, error)

// line are the callers who wait for the read that follows the one under way; nil: no one.
type line[I, V any] struct{ next *round[I, V] }

// round is one read with its callers.
type round[I, V any] struct {
	ctx   context.Context // a round outlives the call that began it
	items []I
	read  Read[I, V]
	done  chan struct{}

	value    V // from here on: set before done is closed
	err      error
	panicked any
}

// Do returns what read makes of item and of what others ask for at the same time. Everybody gets the same value: no one
// may change it. A read continues when its callers have left; it ends in time by the deadline of who came last.
func (r *Reads[K, I, V]) Do(ctx context.Context, key K, item I, read Read[I, V]) (V, error) {
	mine := r.join(ctx, key, item, read)
	select {
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	case <-mine.done:
	}
	if mine.panicked != nil {
		panic(mine.panicked) // in a call, where it is recovered and counted
	}
	return mine.value, mine.err
}

func (r *Reads[K, I, V]) join(ctx context.Context, key K, item I, read Read[I, V]) *round[I, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.keys[key]; l != nil {
		if l.next == nil {
			l.next = &round[I, V]{done: make(chan struct{})}
		}
		l.next.ctx, l.next.read, l.next.items = ctx, read, append(l.next.items, item)
		return l.next
	}
	if r.keys == nil {
		r.keys = map[K]*line[I, V]{}
	}
	r.keys[key] = &line[I, V]{}
	first := &round[I, V]{ctx: ctx, items: []I{item}, read: read, done: make(chan struct{})}
	go r.run(key, first)
	return first
}

// run reads until no one waits.
func (r *Reads[K, I, V]) run(key K, now *round[I, V]) {
	for now != nil {
		now.run()
		now = r.next(key)
	}
}

func (r *Reads[K, I, V]) next(key K) *round[I, V] {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.keys[key]
	next := l.next
	if l.next = nil; next == nil {
		delete(r.keys, key)
	}
	return next
}

func (one *round[I, V]) run() {
	defer close(one.done)
	defer func() { one.panicked = recover() }()
	ctx, cancel := context.WithoutCancel(one.ctx), context.CancelFunc(func() {})
	if deadline, ok := one.ctx.Deadline(); ok {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()
	one.value, one.err = one.read(ctx, one.items)
}
