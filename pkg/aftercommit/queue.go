package aftercommit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
)

// Limits of a queue. They bound its memory and the time that it takes to stop.
const (
	workers      = 4
	capacity     = 256 // waiting tasks per worker
	taskTimeout  = 3 * time.Second
	drainTimeout = 10 * time.Second
)

// Queue runs work in the background.
type Queue struct {
	log     *slog.Logger
	metrics *Metrics
	shards  [workers]chan task

	mu     sync.RWMutex
	closed bool // guarded by mu: new work is dropped
}

type task struct {
	ctx  context.Context
	name string
	work func(context.Context) error
}

// New returns a queue. It accepts work at once, but runs it only once Run is called.
func New(log *slog.Logger, metrics *Metrics) *Queue {
	q := &Queue{log: log, metrics: metrics}
	for i := range q.shards {
		q.shards[i] = make(chan task, capacity)
	}
	return q
}

// Do queues work and returns at once; when the queue is full or stopping, it drops the work. name is the
// task's name in metrics and logs. key identifies the object of the work, for example a report's id. work gets
// the values of ctx, but not its cancellation, and may take three seconds.
func (q *Queue) Do(ctx context.Context, key int64, name string, work func(context.Context) error) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		q.drop(ctx, name, "the process is stopping")
		return
	}
	select {
	case q.shards[uint64(key)%workers] <- task{ctx: context.WithoutCancel(ctx), name: name, work: work}:
		q.metrics.waiting.Inc()
	default:
		q.drop(ctx, name, "the queue is full")
	}
}

// Run runs queued work until ctx ends, then finishes what is still queued, within ten seconds, and returns
// nil.
func (q *Queue) Run(ctx context.Context) error {
	deadline, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var all sync.WaitGroup
	for _, shard := range q.shards {
		all.Go(func() { q.serve(deadline, shard) })
	}
	<-ctx.Done()
	late := time.AfterFunc(drainTimeout, stop)
	defer late.Stop()
	q.close()
	all.Wait()
	return nil
}

func (q *Queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	for _, shard := range q.shards {
		close(shard)
	}
}

// serve runs the tasks of a shard until it is closed and empty. Once deadline has ended, it drops the remaining tasks.
func (q *Queue) serve(deadline context.Context, shard chan task) {
	for t := range shard {
		q.metrics.waiting.Dec()
		if deadline.Err() != nil {
			q.drop(t.ctx, t.name, "the process stopped before the task started")
			continue
		}
		ctx, cancel := context.WithTimeout(t.ctx, taskTimeout)
		stop := context.AfterFunc(deadline, cancel)
		if err := lifecycle.Guard(ctx, q.log, t.name, t.work); err != nil {
			q.metrics.failed.WithLabelValues(t.name).Inc()
			q.log.ErrorContext(ctx, "work after a commit failed", "task", t.name, "error", err)
		}
		stop()
		cancel()
	}
}

func (q *Queue) drop(ctx context.Context, name, reason string) {
	q.metrics.dropped.WithLabelValues(name).Inc()
	q.log.WarnContext(ctx, "work after a commit dropped", "task", name, "reason", reason)
}
