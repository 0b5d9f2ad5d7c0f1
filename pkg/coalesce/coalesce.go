// Package coalesce lets concurrent callers of the same key share one read. At most one read of a key runs at a
// time, so a burst of callers does not queue up behind each other; it suits reads that cost the same for one
// caller as for fifty.
//
// No caller gets data read before its call: a read that is already running may miss what the caller has just
// written, so the caller shares the next one. Results are not cached.
package coalesce

import (
	"context"
	"sync"
)

// Reads shares reads of values V by key. Callers of one key may request different items. The zero Reads is
// ready to use; it is safe for concurrent use.
type Reads[K comparable, I, V any] struct {
	mu   sync.Mutex
	keys map[K]*waiting[I, V] // guarded by mu; has a key while it is being read
}

// Read reads the items that the callers have requested.
type Read[I, V any] func(ctx context.Context, items []I) (V, error)

// waiting holds the callers of the read that follows the running one; next is nil if there are none.
type waiting[I, V any] struct{ next *round[I, V] }

// round is one read and the callers that wait for its result.
type round[I, V any] struct {
	ctx   context.Context // its values and deadline are used, not its cancellation: a round outlives its callers
	items []I
	read  Read[I, V]
	done  chan struct{}

	value    V // value, err and panicked are set before done is closed
	err      error
	panicked any
}

// Do returns the result of read for item and for the items that other callers request at the same time. All of
// them get the same value; no caller may change it. A caller whose ctx ends gets its error at once, while the
// read continues for the others. The read has the deadline of the caller that joined last. A panic in read is
// raised again in every caller.
func (r *Reads[K, I, V]) Do(ctx context.Context, key K, item I, read Read[I, V]) (V, error) {
	mine := r.join(ctx, key, item, read)
	select {
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	case <-mine.done:
	}
	if mine.panicked != nil {
		panic(mine.panicked) // raised in a caller, where it is recovered and counted
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
		r.keys = map[K]*waiting[I, V]{}
	}
	r.keys[key] = &waiting[I, V]{}
	first := &round[I, V]{ctx: ctx, items: []I{item}, read: read, done: make(chan struct{})}
	go r.run(key, first)
	return first
}

// run reads until no caller waits.
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
